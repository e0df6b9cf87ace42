import * as oidc from 'openid-client'

/**
 * Returns the library's DPoP handle: a key of this process that binds access tokens (RFC 9449), and the IdP's nonces,
 * which save requests.
 *
 * @param config that of the first request with a proof
 */
export type DpopKey = (config: oidc.Configuration) => Promise<oidc.DPoPHandle>

/**
 * Generates a key in advance, so that no login waits for it. If that fails, the next login fails too, and the one after
 * it tries again.
 */
export function createDpopKey(): DpopKey {
  let pair: ReturnType<typeof oidc.randomDPoPKeyPair> | undefined
  let handle: oidc.DPoPHandle | undefined

  function keys(): ReturnType<typeof oidc.randomDPoPKeyPair> {
    pair ??= oidc.randomDPoPKeyPair('ES256', { extractable: false })
    return pair
  }

  // No code awaits this first attempt. Without this handler, Node.js would report an unhandled rejection.
  keys().catch(() => undefined)
  return async (config) => {
    const generated = await keys().catch((error: unknown) => {
      pair = undefined
      throw error
    })
    handle ??= oidc.getDPoPHandle(config, generated)
    return handle
  }
}

/**
 * Returns the options that add a DPoP proof to a request.
 *
 * @param dpop null if access tokens are not bound to a key
 */
export async function proofFor(dpop: DpopKey | null, config: oidc.Configuration): Promise<oidc.DPoPOptions> {
  return dpop ? { DPoP: await dpop(config) } : {}
}
