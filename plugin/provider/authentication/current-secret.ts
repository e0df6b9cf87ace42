import type { Fetch } from '../http/limited-fetch.ts'
import { NotedAnswer } from '../http/noted-exchange.ts'
import { isClientRefused } from './client-refused.ts'
import type { ClientSecret } from './client-secret.ts'

type Request = Parameters<Fetch>[1]

/** The request with this secret. Undefined: it does not authenticate this client. */
export type ShowSecret = (request: Request, secret: string) => Request | undefined

/**
 * Requests that show the client secret as its file had it last. Where the IdP refuses the client, the file is read
 * again, and with another secret the request is sent once more. A code or a refresh token is not used up by then: the
 * IdP looks at it only when it knows who asks (RFC 6749, section 3.2.1). Only an answer in OAuth's words says that; a
 * proxy's 401 does not, so the next login uses the new secret there.
 */
export function withCurrentSecretShown(fetch: Fetch, secret: ClientSecret, show: ShowSecret): Fetch {
  return async (url, init) => {
    const shown = secret.current
    const request = show(init, shown)
    if (!request) return fetch(url, init)
    const response = await fetch(url, request)
    if (!(response instanceof NotedAnswer)) return response
    const { status, error } = response.refusal
    if (!isClientRefused(status, error)) return response
    // Another login may have read it since this request was sent.
    if (secret.current === shown) secret.reload()
    if (secret.current === shown || error === undefined) return response
    return fetch(url, show(init, secret.current) ?? init)
  }
}
