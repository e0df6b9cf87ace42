import type { Request, Response } from 'express'
import { publishedKeys } from '../provider/authentication/published-keys.ts'
import type { RouteDeps, Strategy } from './strategy.ts'

/** How long an IdP may cache this client's public keys, in seconds. During this time, it may not know a new key. */
const FRESH_S = 300

/** `GET auth-oidc-jwks`: serves the public keys of this client, for an IdP that fetches them. */
export async function jwks({ working }: Strategy, _deps: RouteDeps, _req: Request, res: Response): Promise<void> {
  const keys = working ? publishedKeys(working.settings) : []
  if (keys.length === 0) {
    const message = 'This client publishes no keys: none are configured, or the configuration has errors.'
    res.status(404).json({ error: 'not_found', message })
    return
  }
  res.set('Cache-Control', `public, max-age=${FRESH_S}`)
  res.type('application/jwk-set+json').send(JSON.stringify({ keys }))
}
