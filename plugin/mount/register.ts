import express from 'express'
import type { HostApp } from '../routes/route-table.ts'
import { type MountOptions, mountOidc, type Oidc } from './mount-oidc.ts'

export type RegisterOptions = MountOptions

/**
 * Registers the login, callback and logout routes for every domain with an `authStrategies.oidc` object. Resolves
 * without waiting for an IdP. A domain with configuration errors refuses logins; the authentication log lists them.
 *
 * @throws TypeError if the whole configuration is unusable, the host's secret is too short, or `shared` is true without
 *   a secret or a shared store
 */
export async function registerOidc(app: HostApp, options: RegisterOptions): Promise<Oidc> {
  return mountOidc(app, options, { urlencoded: express.urlencoded })
}
