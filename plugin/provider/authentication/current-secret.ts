import type { Fetch } from '../http/limited-fetch.ts'
import { NotedAnswer } from '../http/noted-exchange.ts'
import { isClientRefused } from './client-refused.ts'
import type { ClientSecret } from './client-secret.ts'

type Request = Parameters<Fetch>[1]

/** Sets the client secret in a request. Returns undefined if the request does not authenticate the client. */
export type ShowSecret = (request: Request, secret: string) => Request | undefined

/**
 * Sends requests with the current client secret. If the IdP refuses the client and the secret's file contains another
 * secret, sends the request once more. This is safe: the IdP authenticates the client before it uses up a code or
 * refresh token (RFC 6749, section 3.2.1).
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
    // Reload the secret only if no concurrent login has reloaded it since this request was sent.
    if (secret.current === shown) secret.reload()
    // A 401 without an OAuth error may come from a proxy, so do not retry.
    if (secret.current === shown || error === undefined) return response
    return fetch(url, show(init, secret.current) ?? init)
  }
}
