import { isJsonObject } from '../../config/json/json-object.ts'
import type { Fetch } from '../http/limited-fetch.ts'
import { NotedAnswer } from '../http/noted-exchange.ts'

/** The placeholder that is added to an answer of the token endpoint without an access token. */
export const NO_ACCESS_TOKEN = 'no-access-token'

/**
 * Adds {@link NO_ACCESS_TOKEN} to code exchanges with only an ID token, which the client library refuses (RFC 6749,
 * section 5.1). Directories at b2clogin.com send no access token unless a scope belongs to an API. Use it only for IdPs
 * without UserInfo, which needs a real token.
 */
export function withoutAccessToken(fetch: Fetch, tokenEndpoint: string | undefined): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init)
    const isExchange = init.body instanceof URLSearchParams && init.body.get('grant_type') === 'authorization_code'
    if (url !== tokenEndpoint || !isExchange || response instanceof NotedAnswer) return response
    const answer = await jsonOf(response.clone())
    if (!isJsonObject(answer) || answer.access_token !== undefined || typeof answer.id_token !== 'string')
      return response
    const body = JSON.stringify({ token_type: 'Bearer', ...answer, access_token: NO_ACCESS_TOKEN })
    return new Response(body, response)
  }
}

async function jsonOf(response: Response): Promise<unknown> {
  return response.json().catch(() => undefined)
}
