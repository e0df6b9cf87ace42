import { decodeProtectedHeader } from 'jose'
import type { Fetch } from '../http/limited-fetch.ts'
import type { KeySet } from './key-set.ts'

/** Reads the key id of a signed token. Returns undefined if the token names none, or if the text is not a token. */
export function keyIdOf(token: string): string | undefined {
  try {
    const { kid } = decodeProtectedHeader(token)
    return typeof kid === 'string' ? kid : undefined
  } catch {
    return undefined
  }
}

/**
 * Answers openid-client's requests for the key set from the domain's {@link KeySet}. The library requests it once for
 * each configuration, so it must contain the token's key.
 *
 * @param inner the `fetch` for other requests
 * @param token the token to verify. A signed answer replaces it
 */
export function withServedKeys(inner: Fetch, keySet: KeySet, jwksUri: string | undefined, token?: string): Fetch {
  let kid = token === undefined ? undefined : keyIdOf(token)
  const address = jwksUri !== undefined && URL.canParse(jwksUri) ? new URL(jwksUri).href : undefined
  return async (url, init) => {
    if (jwksUri !== undefined && url === address) return Response.json((await keySet.current(jwksUri, kid)).jwks)
    const response = await inner(url, init)
    if (!response.headers.get('content-type')?.toLowerCase().startsWith('application/jwt')) return response
    const text = await response.text()
    kid = keyIdOf(text)
    return new Response(text, response)
  }
}
