import express from 'express'
import type { Log } from '../log.ts'
import type { HostApp } from '../routes/route-table.ts'
import { createLog } from './json-log.ts'
import { type MountOptions, mountOidc, type Oidc } from './mount-oidc.ts'

export interface RegisterOptions extends Omit<MountOptions, 'log' | 'urlencoded' | 'sessionCheckMs'> {
  /** Where the plugin's own lines go; default: JSON lines on stdout. */
  readonly log?: Log
}

/**
 * Registers single sign-on for every domain that has an `authStrategies.oidc` object: the login, the callback and the
 * logout routes. Resolves before any identity provider has answered. A domain whose configuration has errors is refused
 * alone; each error is in the authentication log.
 *
 * @throws TypeError when the configuration as a whole is unusable, the host's secret is too short, or `shared` is
 *   demanded and something that has to be shared is not
 */
export async function registerOidc(app: HostApp, options: RegisterOptions): Promise<Oidc> {
  return mountOidc(app, { ...options, log: options.log ?? createLog('plugin'), urlencoded: express.urlencoded })
}
