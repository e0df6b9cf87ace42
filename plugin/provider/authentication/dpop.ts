import * as oidc from 'openid-client'

/**
 * What binds the access tokens of a client to a key of this process (RFC 9449). The nonces of the IdP are kept with it,
 * so that a login seldom learns a new one.
 *
 * @param config with which the first proof is made
 */
export type DpopKey = (config: oidc.Configuration) => Promise<oidc.DPoPHandle>

/**
 * Begins to make a key at once, so that no login waits for it. It cannot be taken out of this process. Where that
 * fails, whoever signs in next is told, and the one after that has another try.
 */
export function createDpopKey(): DpopKey {
  let pair: ReturnType<typeof oidc.randomDPoPKeyPair> | undefined
  let handle: oidc.DPoPHandle | undefined

  function keys(): ReturnType<typeof oidc.randomDPoPKeyPair> {
    pair ??= oidc.randomDPoPKeyPair('ES256', { extractable: false })
    return pair
  }

  // Nobody may be waiting yet.
  keys().catch(() => undefined)
  return async (config) => {
    const made = await keys().catch((error: unknown) => {
      pair = undefined
      throw error
    })
    handle ??= oidc.getDPoPHandle(config, made)
    return handle
  }
}
