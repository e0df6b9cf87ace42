import express from 'express'
import type { HostApp } from '../routes/route-table.ts'
import { type MountOptions, mountOidc, type Oidc } from './mount-oidc.ts'

export type RegisterOptions = MountOptions

/**
 * Registers single sign-on for every domain that has an `authStrategies.oidc` object: its login, callback and logout
 * routes. Resolves before any IdP has answered. A domain whose configuration has errors refuses logins, and each error
 * is in the authentication log.
 *
 * @throws TypeError if the configuration as a whole is unusable, the host's secret is too short, or `shared` is set and
 *   a part is not shared
 */
export async function registerOidc(app: HostApp, options: RegisterOptions): Promise<Oidc> {
  return mountOidc(app, options, { urlencoded: express.urlencoded })
}
