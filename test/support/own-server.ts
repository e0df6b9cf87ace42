import { createServer } from 'node:http'
import cookieSession from 'cookie-session'
import express, { type Application } from 'express'
import { recordsInMemory } from '../../fixtures/host/accounts-memory.ts'
import type { Idp } from '../../fixtures/idp/server.ts'
import {
  type AuthLogEntry,
  cookieSessions,
  createLog,
  memoryRevocations,
  type PresetUrls,
  registerOidc,
  type Sessions,
} from '../../plugin/index.ts'
import { onLoopback } from './on-loopback.ts'

const CLIENT = { client_id: 'own', client_secret: 'a-client-secret-of-a-server-of-ones-own' }

export interface OwnServerOptions {
  readonly idp: Idp
  /** The Express application, which already has the middleware of the sessions. */
  readonly app: Application
  readonly sessions: Sessions
  /** The address that browsers use. Default: the address on which the server listens. */
  readonly origin?: string
  /** The path below which the plugin is, with slashes around it. Default: `/`. */
  readonly base?: string
  /** Merged into the `oidc` object. */
  readonly oidc?: Readonly<Record<string, unknown>>
  readonly presets?: PresetUrls
}

export type OwnServer = Awaited<ReturnType<typeof startOwnServer>>

/** Starts a server that is not MeshCentral and uses the plugin. The provider notifies it of logouts. */
export async function startOwnServer(options: OwnServerOptions) {
  const { idp, app, sessions, base = '/', oidc = {}, presets } = options
  const records = recordsInMemory()
  const authLog: AuthLogEntry[] = []
  const server = await onLoopback(createServer(app))
  const url = (options.origin ?? server.url) + base
  const client = { ...CLIENT, redirect_uri: `${url}auth-oidc-callback`, post_logout_redirect_uri: `${url}login` }
  await idp.addClient({
    ...CLIENT,
    redirect_uris: [client.redirect_uri],
    post_logout_redirect_uris: [client.post_logout_redirect_uri],
    backchannel_logout_uri: `${url}auth-oidc-backchannel-logout`,
    backchannel_logout_session_required: true,
  })
  const strategy = { oidc: { issuer: idp.issuer, newAccounts: true, client, ...oidc } }
  const running = await registerOidc(app, {
    config: { settings: { cert: new URL(url).hostname }, domains: { '': { authStrategies: strategy } } },
    host: {
      ...records,
      sessions,
      basePath: () => base,
      loginPage: { showFailure: (_req, res, _domain, { code }) => res.redirect(302, `${base}login?failure=${code}`) },
      authLog: (entry) => authLog.push(entry),
      secret: 'a secret of the server with more than 32 characters',
    },
    ...(presets ? { presets } : {}),
    log: createLog('plugin', { write: () => undefined }),
  })
  app.get(`${base}login`, (_req, res) => void res.send(`<a href="${base}auth-oidc">Sign in</a>`))
  app.get(`${base}api/me`, async (req, res) => void res.json({ id: (await sessions.current(req))?.userId ?? null }))
  app.get(`${base}api/session`, async (req, res) => void res.json({ state: await running.introspect(req) }))
  app.use((_req, res) => void res.send('a page'))
  return {
    port: server.port,
    /**
     * Address of the server, with a slash at the end. `api/me` below it returns the signed-in user, and `api/session`
     * the IdP's answer about the session.
     */
    url,
    authLog,
    async close() {
      await server.close()
      await running.close()
      await records.close()
    },
  }
}

/** Starts such a server with sessions that are stored in cookies. */
export function startCookieSessionServer(options: Omit<OwnServerOptions, 'app' | 'sessions'>) {
  const cookies = cookieSession({ name: 'session', keys: ['a key'], maxAge: 86_400_000, sameSite: 'strict' })
  const app = express().use(express.json(), cookies)
  return startOwnServer({ ...options, app, sessions: cookieSessions({ revocations: memoryRevocations() }) })
}
