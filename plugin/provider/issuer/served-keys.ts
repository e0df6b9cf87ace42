import { decodeProtectedHeader } from 'jose'
import type { Fetch } from '../http/limited-fetch.ts'
import type { KeySet } from './key-set.ts'

/** Key id of a signed token; undefined where it names none, or is no token. */
export function keyIdOf(token: string): string | undefined {
  try {
    const { kid } = decodeProtectedHeader(token)
    return typeof kid === 'string' ? kid : undefined
  } catch {
    return undefined
  }
}

/**
 * Serves openid-client the key set out of the one that all share. The library asks for it once, when it has a signature
 * to verify, and keeps what it got: so what it gets has the key that the signature names.
 *
 * @param inner for all else
 * @param token whose signature the library is about to verify; an answer that is a signed token itself comes after it
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
