import { createServer } from 'node:http'
import { register } from 'node:module'
import express from 'express'
import { auth } from 'express-openid-connect'
import { onLoopback } from '../support/on-loopback.ts'

export interface Client {
  readonly client_id: string
  readonly client_secret: string
}

/** Addresses of a relying party: where a login begins, its callback, and the page that returns the signed-in user. */
export type Party = Awaited<ReturnType<typeof ours>>

export async function ours(issuer: string, client: Client) {
  // The sources, as `tsx` transforms them, take up to 6 % more CPU time for a login.
  register('./built-plugin.mjs', import.meta.url)
  const { startHost } = await import('../../fixtures/host/server.ts')
  const host = await startHost({
    config: (port: number) => ({
      settings: { cert: '127.0.0.1', port },
      domains: {
        '': {
          authStrategies: {
            oidc: {
              issuer,
              newAccounts: true,
              client: { ...client, redirect_uri: `http://127.0.0.1:${port}/auth-oidc-callback` },
            },
          },
        },
      },
    }),
    output: { write: () => undefined },
  })
  return { login: `${host.url}auth-oidc`, callback: `${host.url}auth-oidc-callback`, me: `${host.url}api/me` }
}

export async function peer(issuer: string, client: Client): Promise<Party> {
  const app = express()
  const { url } = await onLoopback(createServer(app))
  app.use(
    auth({
      issuerBaseURL: issuer,
      baseURL: url,
      clientID: client.client_id,
      clientSecret: client.client_secret,
      clientAuthMethod: 'client_secret_basic',
      secret: 'a cookie secret of the bench, long enough',
      authRequired: false,
      authorizationParams: { response_type: 'code', scope: 'openid profile email' },
    }),
  )
  app.get('/', (_req, res) => res.redirect(302, '/me'))
  app.get('/me', (req, res) => {
    if (!req.oidc.isAuthenticated()) return res.status(401).json({})
    return res.json({ name: req.oidc.user?.name })
  })
  return { login: `${url}/login`, callback: `${url}/callback`, me: `${url}/me` }
}
