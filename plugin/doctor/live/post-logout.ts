import { randomBytes } from 'node:crypto'
import type { DomainSettings } from '../../config/settings.ts'
import { printableText } from '../../log.ts'
import type { Fetch } from '../../provider/http/limited-fetch.ts'
import { faultInWords, type Verdict } from './verdict.ts'

const question = 'post-logout address'

/**
 * Asks whether the IdP knows the post-logout address. Even without a user, Keycloak redirects to it, or answers with
 * status 400. Many other IdPs refuse any request without a user. Never rejects. Source: OpenID Connect RP-Initiated
 * Logout 1.0, section 2.
 *
 * @param endpoint undefined if the IdP publishes none
 * @param fetch with limits, without a client certificate, like a browser
 */
export async function askForPostLogout(
  { client, logoutUrl }: Pick<DomainSettings, 'client' | 'logoutUrl'>,
  endpoint: string | undefined,
  fetch: Fetch,
): Promise<Verdict> {
  const { client_id, post_logout_redirect_uri: returnAddress } = client
  if (logoutUrl !== null) return ok('not checked: sign-outs lead to `logouturl`')
  if (returnAddress === null)
    return ok('not checked: `client.post_logout_redirect_uri` is false, so no such address is sent')
  if (endpoint === undefined) return ok('not checked: the IdP publishes no end-session endpoint')
  try {
    const state = randomBytes(16).toString('base64url')
    const answer = await ask(endpoint, { client_id, post_logout_redirect_uri: returnAddress, state }, fetch)
    if (answer.leadsTo === withoutQuery(returnAddress)) return ok(`registered: a sign-out returns to ${returnAddress}`)
    if (!answer.objectsToAddress) return UNKNOWN
    // Repeat the request without the post-logout address. If the IdP refuses this request too, the address is not the
    // cause.
    const without = await ask(endpoint, { client_id, state }, fetch)
    if (without.status >= 400) return UNKNOWN
    const text = `The IdP does not know ${printableText(returnAddress)}, so a sign-out ends on a page of the IdP. Register exactly this post-logout address for the client ${printableText(client_id)} (in Keycloak: Valid post logout redirect URIs). [status: ${answer.status}]`
    return { question, verdict: isKeycloak(endpoint) ? 'fail' : 'warn', text }
  } catch (error) {
    return { question, verdict: 'warn', text: faultInWords(error) }
  }
}

/** Whether the endpoint is Keycloak's. It refuses only unregistered addresses. Other IdPs may have other reasons. */
function isKeycloak(endpoint: string): boolean {
  return new URL(endpoint).pathname.endsWith('/protocol/openid-connect/logout')
}

const ok = (text: string): Verdict => ({ question, verdict: 'ok', text })
const UNKNOWN = ok('unknown: this IdP does not tell without a signed-in user')

interface Answer {
  readonly status: number
  /** The address to which the IdP's response redirects, without the query. Null if the response is not a redirect. */
  readonly leadsTo: string | null
  /**
   * Whether the IdP answered with an error about the post-logout address. False if the error is about a missing ID
   * token.
   */
  readonly objectsToAddress: boolean
}

async function ask(endpoint: string, parameters: Readonly<Record<string, string>>, fetch: Fetch): Promise<Answer> {
  const url = new URL(endpoint)
  for (const [name, value] of Object.entries(parameters)) url.searchParams.append(name, value)
  const headers = { accept: 'text/html', 'accept-language': 'en' }
  const response = await fetch(url.href, { method: 'GET', headers, body: undefined, redirect: 'manual' })
  const { status } = response
  const location = response.headers.get('location')
  const isRedirect = status >= 300 && status < 400 && location !== null && URL.canParse(location, url.href)
  const text = status >= 400 && status < 500 ? await response.text() : ''
  return {
    status,
    leadsTo: isRedirect ? withoutQuery(new URL(location, url.href).href) : null,
    objectsToAddress: /redirect[-_ ]?ur[il]/i.test(text) && !/id_token_hint/i.test(text),
  }
}

function withoutQuery(address: string): string {
  const { origin, pathname } = new URL(address)
  return origin + pathname
}
