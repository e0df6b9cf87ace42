import { randomBytes } from 'node:crypto'
import type { DomainSettings } from '../../config/settings.ts'
import { printableText } from '../../log.ts'
import type { Fetch } from '../../provider/http/limited-fetch.ts'
import { faultInWords, type Verdict } from './verdict.ts'

const question = 'post-logout address'

/**
 * Asks whether the IdP knows the address that a sign-out leads back to. Keycloak tells so without a signed-in user: it
 * redirects there, or answers with a page of its own and status 400. Many others first want to know who signs out; they
 * tell nothing here. Never rejects. Source: OpenID Connect RP-Initiated Logout 1.0, section 2.
 *
 * @param endpoint undefined: the IdP publishes none
 * @param fetch limited, without this server's certificate: a browser has none
 */
export async function askForPostLogout(
  { client, logoutUrl }: Pick<DomainSettings, 'client' | 'logoutUrl'>,
  endpoint: string | undefined,
  fetch: Fetch,
): Promise<Verdict> {
  const { client_id, post_logout_redirect_uri: back } = client
  if (logoutUrl !== null) return ok('not asked: sign-outs lead to `logouturl`')
  if (back === null) return ok('none is sent')
  if (endpoint === undefined) return ok('not asked: the IdP publishes no end-session endpoint')
  try {
    const state = randomBytes(16).toString('base64url')
    const answer = await ask(endpoint, { client_id, post_logout_redirect_uri: back, state }, fetch)
    if (answer.leadsTo === withoutQuery(back)) return ok(`registered: a sign-out leads back to ${back}`)
    if (!answer.objectsToAddress) return NOT_TOLD
    // One that refuses every sign-out of a stranger says nothing of this address.
    const without = await ask(endpoint, { client_id, state }, fetch)
    if (without.status >= 400) return NOT_TOLD
    const text = `The IdP does not know ${printableText(back)}: a sign-out ends on a page of the IdP. Register it, to the letter, as a post-logout address of the client ${printableText(client_id)} (in Keycloak: Valid post logout redirect URIs). [status: ${answer.status}]`
    return { question, verdict: isKeycloak(endpoint) ? 'fail' : 'warn', text }
  } catch (error) {
    return { question, verdict: 'warn', text: faultInWords(error) }
  }
}

/**
 * Its answer is certain: with a registered address it would have redirected. What others object to may be something
 * else.
 */
function isKeycloak(endpoint: string): boolean {
  return new URL(endpoint).pathname.endsWith('/protocol/openid-connect/logout')
}

const ok = (text: string): Verdict => ({ question, verdict: 'ok', text })
const NOT_TOLD = ok('this IdP does not tell without a signed-in user')

interface Answer {
  readonly status: number
  /** Where the browser is sent, without a query; null: nowhere. */
  readonly leadsTo: string | null
  /** Whether the answer is an error that speaks of the address, and not of the ID token that it lacks. */
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
