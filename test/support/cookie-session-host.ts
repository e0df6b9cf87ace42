import { createServer } from 'node:http'
import cookieSession from 'cookie-session'
import express from 'express'
import { recordsInMemory } from '../../fixtures/host/accounts-memory.ts'
import { type Idp, type IdpOptions, startIdp } from '../../fixtures/idp/server.ts'
import { cookieSessions, createLog, memoryRevocations, type PresetUrls, registerOidc } from '../../plugin/index.ts'
import { onLoopback } from './on-loopback.ts'
import { CLIENT } from './sign-in-setup.ts'

export interface CookieSessionHost {
  readonly idp: Idp
  /** With a slash at the end. Below it `api/me` says who is signed in, and `api/session` what the IdP says of that. */
  readonly url: string
  close(): Promise<void>
}

/** A server of its own making whose sessions lie with the browsers, at a provider that tells it of logouts. */
export async function startCookieSessionHost(
  options: {
    readonly idp?: IdpOptions
    /** Merged into the `oidc` object. */
    readonly oidc?: Readonly<Record<string, unknown>>
    readonly presets?: (idp: Idp) => PresetUrls
  } = {},
): Promise<CookieSessionHost> {
  const idp = await startIdp(options.idp)
  const records = recordsInMemory()
  const sessions = cookieSessions({ revocations: memoryRevocations() })
  const app = express()
  app.use(express.json(), cookieSession({ name: 'session', keys: ['a key'], maxAge: 86_400_000, sameSite: 'strict' }))
  const server = await onLoopback(createServer(app))
  const url = `${server.url}/`
  const client = { ...CLIENT, redirect_uri: `${url}auth-oidc-callback`, post_logout_redirect_uri: `${url}login` }
  await idp.addClient({
    ...CLIENT,
    redirect_uris: [client.redirect_uri],
    post_logout_redirect_uris: [client.post_logout_redirect_uri],
    backchannel_logout_uri: `${url}auth-oidc-backchannel-logout`,
    backchannel_logout_session_required: true,
  })
  const oidc = { issuer: idp.issuer, newAccounts: true, client, ...options.oidc }
  const strategy = await registerOidc(app, {
    config: { settings: { cert: '127.0.0.1' }, domains: { '': { authStrategies: { oidc } } } },
    host: {
      ...records,
      sessions,
      loginPage: { showFailure: (_req, res, _domain, { code }) => res.redirect(302, `/login?failure=${code}`) },
      authLog: () => undefined,
      secret: 'a secret of the server with more than 32 characters',
    },
    ...(options.presets ? { presets: options.presets(idp) } : {}),
    log: createLog('plugin', { write: () => undefined }),
  })
  app.get('/login', (_req, res) => void res.send('<a href="/auth-oidc">Sign in</a>'))
  app.get('/api/me', async (req, res) => void res.json({ id: (await sessions.current(req))?.userId ?? null }))
  app.get('/api/session', async (req, res) => void res.json({ state: await strategy.introspect(req) }))
  app.use((_req, res) => void res.send('a page'))
  return {
    idp,
    url,
    close: async () => {
      await server.close()
      await strategy.close()
      await records.close()
      await idp.close()
    },
  }
}
