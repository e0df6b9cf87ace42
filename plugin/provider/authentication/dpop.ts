import * as oidc from 'openid-client'

/**
 * Returns the handle that binds this client's access tokens to a key of this process (RFC 9449). The handle also keeps
 * the IdP's nonces, so a login rarely needs a second request to learn one.
 *
 * @param config the configuration of the first request that needs a proof
 */
export type DpopKey = (config: oidc.Configuration) => Promise<oidc.DPoPHandle>

/**
 * Starts to generate a key immediately, so that no login waits for it. The key cannot be exported from this process. If
 * it cannot be generated, the next login fails and the one after it tries again.
 */
export function createDpopKey(): DpopKey {
  let pair: ReturnType<typeof oidc.randomDPoPKeyPair> | undefined
  let handle: oidc.DPoPHandle | undefined

  function keys(): ReturnType<typeof oidc.randomDPoPKeyPair> {
    pair ??= oidc.randomDPoPKeyPair('ES256', { extractable: false })
    return pair
  }

  // No login awaits this first attempt, so its failure must not stay unhandled.
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

/** Options that add a DPoP proof to a request. @param dpop null: access tokens are not bound to a key */
export async function proofFor(dpop: DpopKey | null, config: oidc.Configuration): Promise<oidc.DPoPOptions> {
  return dpop ? { DPoP: await dpop(config) } : {}
}
