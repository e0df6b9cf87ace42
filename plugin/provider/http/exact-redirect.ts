import type { Fetch } from './guarded-fetch.ts'

/**
 * Token requests that name the redirect address exactly as the authorization request did. openid-client rebuilds it from the address
 * of the callback, without its query and in normal form, and many IdPs compare to the letter. Source: RFC 6749, section 4.1.3.
 */
export function withExactRedirect(fetch: Fetch, redirectUri: string): Fetch {
  return (url, init) => {
    if (!(init.body instanceof URLSearchParams)) return fetch(url, init)
    const written = init.body.get('redirect_uri')
    if (written === null || written === redirectUri) return fetch(url, init)
    const body = new URLSearchParams(init.body)
    body.set('redirect_uri', redirectUri)
    return fetch(url, { ...init, body })
  }
}
