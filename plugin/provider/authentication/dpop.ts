import * as oidc from 'openid-client'

/**
 * What binds the access tokens of a client to a key of this process (RFC 9449). The nonces of the IdP are kept with it, so that a login
 * seldom learns a new one.
 *
 * @param config with which the first proof is made
 */
export type DpopKey = (config: oidc.Configuration) => Promise<oidc.DPoPHandle>

/** Begins to make a key at once, so that no login waits for it. It cannot be taken out of this process. */
export function createDpopKey(): DpopKey {
  const pair = oidc.randomDPoPKeyPair('ES256', { extractable: false })
  // Whoever signs in next is told; nobody may be waiting yet.
  pair.catch(() => undefined)
  let handle: Promise<oidc.DPoPHandle> | undefined
  return (config) => {
    handle ??= pair.then((keys) => oidc.getDPoPHandle(config, keys))
    return handle
  }
}
