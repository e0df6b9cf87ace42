import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express from 'express'
import session from 'express-session'
import { recordsInMemory } from '../../../fixtures/host/accounts-memory.ts'
import type { Idp } from '../../../fixtures/idp/server.ts'
import { type AuthLogEntry, createLog, expressSessions, registerOidc } from '../../../plugin/index.ts'

const BASE = '/devices/'
const CLIENT = { client_id: 'devices', client_secret: 'a-client-secret-of-the-devices' }

/** A server of one's own below a path, as the page on proxies has it. */
export interface ExpressServer {
  readonly port: number
  /** Where browsers find it, through the proxy. */
  readonly url: string
  readonly authLog: readonly AuthLogEntry[]
  close(): Promise<void>
}

/** @param origin of the proxy */
export async function startExpressServer(idp: Idp, origin: string): Promise<ExpressServer> {
  const url = origin + BASE
  const client = { ...CLIENT, redirect_uri: `${url}auth-oidc-callback`, post_logout_redirect_uri: `${url}login` }
  await idp.addClient({
    ...CLIENT,
    redirect_uris: [client.redirect_uri],
    post_logout_redirect_uris: [client.post_logout_redirect_uri],
    backchannel_logout_uri: `${url}auth-oidc-backchannel-logout`,
  })
  const records = recordsInMemory()
  const sessions = expressSessions()
  const authLog: AuthLogEntry[] = []
  const app = express()
  app.set('trust proxy', '127.0.0.1')
  const cookie = { path: BASE, secure: 'auto', sameSite: 'lax' } as const
  app.use(session({ secret: 'a secret of the devices', cookie, resave: false, saveUninitialized: false }))
  const oidc = await registerOidc(app, {
    config: {
      settings: { cert: new URL(origin).hostname },
      domains: { '': { authStrategies: { oidc: { issuer: idp.issuer, newAccounts: true, client, groups: {} } } } },
    },
    host: {
      ...records,
      sessions,
      basePath: () => BASE,
      loginPage: { showFailure: (_req, res, _domain, { code }) => res.redirect(302, `${BASE}login?failure=${code}`) },
      authLog: (entry) => authLog.push(entry),
      secret: 'a secret of the devices with more than 32 characters',
    },
    log: createLog('plugin', { write: () => undefined }),
  })
  app.get(BASE, async (req, res) => void res.json({ user: (await sessions.current(req))?.userId ?? null }))
  app.use((_req, res) => void res.send('a page'))
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    url,
    authLog,
    async close() {
      server.close()
      server.closeAllConnections()
      await oidc.close()
      await records.close()
    },
  }
}
