import type { Fetch } from '../http/limited-fetch.ts'
import { NotedAnswer } from '../http/noted-exchange.ts'
import { isClientRefused } from './client-refused.ts'
import type { ClientSecret } from './client-secret.ts'

type Request = Parameters<Fetch>[1]

/** Returns the request with this secret, or undefined if the request does not authenticate the client. */
export type ShowSecret = (request: Request, secret: string) => Request | undefined

/**
 * Sends requests with the client secret that was last read from its file. If the IdP refuses the client, the file is
 * read again, and if it contains another secret, the request is sent once more. That uses up no code and no refresh
 * token, because the IdP reads these only after it has authenticated the client (RFC 6749, section 3.2.1). Only an
 * answer with an OAuth error proves that. After a bare 401, perhaps from a proxy, the new secret waits for the next
 * login.
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
    // A concurrent login may have reloaded the secret since this request was sent.
    if (secret.current === shown) secret.reload()
    if (secret.current === shown || error === undefined) return response
    return fetch(url, show(init, secret.current) ?? init)
  }
}
