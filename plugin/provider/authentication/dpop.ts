import * as oidc from 'openid-client'

/**
 * Returns the library's DPoP handle, which binds this client's access tokens to a key of this process (RFC 9449). The
 * handle also stores the IdP's nonces, because a request without a current nonce must be sent twice.
 *
 * @param config the configuration of the first request that needs a proof
 */
export type DpopKey = (config: oidc.Configuration) => Promise<oidc.DPoPHandle>

/**
 * Starts to generate a key immediately, so that no login waits for it. The key cannot be exported from this process. If
 * the generation fails, the next login fails too, and the login after it generates a new key.
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
