import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { auth } from 'express-openid-connect'
import { ScriptedBrowser } from '../../fixtures/browser.ts'
import { type RunningHost, startHost } from '../../fixtures/host/server.ts'
import { type Idp, startIdp } from '../../fixtures/idp/server.ts'
import { alternate, type Measurement } from './measurement.ts'

const LOGINS_A_ROUND = 150
const PARALLEL = 4
const ROUNDS = 9

/**
 * Complete logins per second, code flow with PKCE and nonce, by browsers that have a session at the one IdP of both sides: login
 * address, IdP, callback, and the first signed-in request. Both sides take the claims from the ID token.
 */
export async function loginBench(): Promise<Measurement> {
  const idp = await startIdp({})
  const host = await startOurs(idp)
  const peer = await startPeer(idp)
  try {
    const ours = () => loginsPerSecond(`${host.url}auth-oidc`, `${host.url}api/me`)
    const theirs = () => loginsPerSecond(`${peer.url}login`, `${peer.url}me`)
    await ours()
    await theirs()
    const medians = await alternate(ROUNDS, ours, theirs)
    return {
      name: 'login',
      unit: 'logins/s',
      ours: medians.ours,
      peer: medians.peer,
      peerName: 'express-openid-connect',
      ratio: medians.ours / medians.peer,
    }
  } finally {
    await host.close()
    await peer.close()
    await idp.close()
  }
}

async function startOurs(idp: Idp): Promise<RunningHost> {
  const client = { client_id: 'ours', client_secret: 'bench-secret-of-ours' }
  const host = await startHost({
    config: (port: number) => ({
      settings: { cert: '127.0.0.1', port },
      domains: {
        '': {
          authStrategies: {
            oidc: {
              issuer: idp.issuer,
              newAccounts: true,
              client: { ...client, redirect_uri: `http://127.0.0.1:${port}/auth-oidc-callback` },
            },
          },
        },
      },
    }),
    output: { write: () => undefined },
  })
  await idp.addClient({ ...client, redirect_uris: [`${host.url}auth-oidc-callback`] })
  return host
}

async function startPeer(idp: Idp): Promise<{ url: string; close(): Promise<void> }> {
  const app = express()
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const client = { client_id: 'peer', client_secret: 'bench-secret-of-the-peer' }
  await idp.addClient({ ...client, redirect_uris: [`${url}callback`] })
  app.use(
    auth({
      issuerBaseURL: idp.issuer,
      baseURL: url.slice(0, -1),
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
  return {
    url,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function loginsPerSecond(loginUrl: string, proofUrl: string): Promise<number> {
  const people = await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      const browser = new ScriptedBrowser()
      await browser.signIn(await browser.get(loginUrl), 'alice', 'alice-demo')
      return browser
    }),
  )
  const start = performance.now()
  await Promise.all(
    people.map(async (browser) => {
      for (let i = 0; i < LOGINS_A_ROUND / PARALLEL; i += 1) await loginOnce(browser, loginUrl, proofUrl)
    }),
  )
  const seconds = (performance.now() - start) / 1000
  for (const browser of people) browser.close()
  return (Math.ceil(LOGINS_A_ROUND / PARALLEL) * PARALLEL) / seconds
}

/** Redirects only, no page in between. */
async function loginOnce(browser: ScriptedBrowser, loginUrl: string, proofUrl: string): Promise<void> {
  let address = loginUrl
  for (;;) {
    const answer = await browser.step(address)
    const { location } = answer.headers
    if (location === undefined) throw new Error(`no redirect at ${new URL(address).pathname}: ${answer.status}`)
    address = new URL(location, address).href
    if (answer.url.startsWith(new URL(loginUrl).origin) && answer.url !== loginUrl) break
  }
  const proof = await browser.step(proofUrl)
  if (proof.status !== 200) throw new Error(`not signed in: ${proof.status}`)
}
