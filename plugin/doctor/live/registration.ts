import { randomBytes } from 'node:crypto'
import type { DomainSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import { printableText } from '../../log.ts'
import type { Transaction } from '../../login/transaction/transaction.ts'
import type { ProviderClient } from '../../provider/client.ts'
import { unanswered } from '../../provider/faults/unanswered.ts'
import type { Fetch } from '../../provider/http/limited-fetch.ts'
import { faultInWords, type Verdict } from './verdict.ts'

const question = 'client and redirect address'

/**
 * Errors that an IdP may send if a request forbids login pages and no user is signed in. Source: OpenID Connect Core
 * 1.0, section 3.1.2.6.
 */
const NOT_SIGNED_IN = ['login_required', 'interaction_required', 'consent_required', 'account_selection_required']
/**
 * Errors that do not concern the client's registration. The IdP sends them to the redirect address, so it knows that
 * address.
 */
const TEMPORARY = ['access_denied', 'server_error', 'temporarily_unavailable']

export interface RegistrationDeps {
  readonly client: Pick<ProviderClient, 'authorizationUrl' | 'openAnswer' | 'redeem'>
  /** A `fetch` with limits of time and size. It acts as a browser, so it presents no client certificate. */
  readonly fetch: Fetch
  readonly now: () => number
}

/**
 * Requests a login with `prompt=none`. The IdP redirects with an error only if it knows the client and its redirect
 * address (RFC 6749, section 4.1.2.1). Never rejects.
 */
export async function askForRegistration(settings: DomainSettings, deps: RegistrationDeps): Promise<Verdict> {
  const { redirect_uri: redirectUri } = settings.client
  const transaction = newTransaction(settings.key, deps.now())
  try {
    const url = await deps.client.authorizationUrl(transaction, { parameters: { prompt: 'none' } })
    const response = await ask(url, deps.fetch)
    const answer = await answerIn(response, url, redirectUri)
    return answer
      ? await judgeAnswer(answer, transaction, deps.client, redirectUri)
      : judgePage(response, url, settings)
  } catch (error) {
    return { question, verdict: 'fail', text: faultInWords(error) }
  }
}

function newTransaction(domainKey: string, startedAt: number): Transaction {
  const random = () => randomBytes(32).toString('base64url')
  return { domainKey, state: random(), nonce: random(), codeVerifier: random(), returnPath: null, startedAt }
}

async function ask(url: URL, fetch: Fetch): Promise<Response> {
  const headers = { accept: 'text/html' }
  try {
    return await fetch(url.href, { method: 'GET', headers, body: undefined, redirect: 'manual' })
  } catch (cause) {
    const details = { endpoint: 'authorization_endpoint', address: url.origin + url.pathname }
    throw new LoginError('provider_unreachable', { cause, details: { ...unanswered(cause)?.details, ...details } })
  }
}

/**
 * Reads the IdP's answer from the query or the fragment of a redirect, or from a form. Returns undefined if there is no
 * answer.
 */
async function answerIn(response: Response, url: URL, redirectUri: string): Promise<URLSearchParams | undefined> {
  const target = redirectOf(response, url)
  // Do not check the HTTP status. Some IdPs send an error as a form, together with an error status.
  if (!target) return formAnswer(await response.text(), redirectUri)
  const expected = new URL(redirectUri)
  if (target.origin !== expected.origin || target.pathname !== expected.pathname) return undefined
  return target.hash === '' ? target.searchParams : new URLSearchParams(target.hash.slice(1))
}

function redirectOf({ status, headers }: Response, url: URL): URL | undefined {
  const location = headers.get('location')
  if (status < 300 || status > 399 || location === null || !URL.canParse(location, url.href)) return undefined
  return new URL(location, url.href)
}

async function judgeAnswer(
  answer: URLSearchParams,
  transaction: Transaction,
  { openAnswer, redeem }: RegistrationDeps['client'],
  redirectUri: string,
): Promise<Verdict> {
  const registered = `both are registered: the answer came to ${redirectUri}`
  // Do not redeem the authorization code, because the IdP may have issued it for a user who requested no login.
  if (answer.has('code') || answer.has('id_token')) return { question, verdict: 'ok', text: registered }
  const fault = await openAnswer(answer)
    .then((opened) => redeem(opened, transaction))
    .then(
      () => undefined,
      (error: unknown) => error,
    )
  const error = fault instanceof LoginError && fault.code === 'provider_error' ? String(fault.details.error) : ''
  if (NOT_SIGNED_IN.includes(error)) return { question, verdict: 'ok', text: `${registered}, with ${error}` }
  // Some IdPs, such as Canaille, omit `iss` from errors, so the plugin refuses this one (RFC 9207, section 2). It still
  // proves that client and address are registered.
  if (isWithoutIssuer(fault) && NOT_SIGNED_IN.includes(answer.get('error') ?? '')) {
    const text = `Both are registered: the answer came to ${redirectUri}. But the IdP sends refusals without the \`iss\` that it announces. If it refuses a login, the log therefore reports the missing \`iss\`, not the reason.`
    return { question, verdict: 'warn', text }
  }
  const text = `The answer came to ${redirectUri}. ${faultInWords(fault)}`
  return { question, verdict: TEMPORARY.includes(error) ? 'warn' : 'fail', text }
}

function isWithoutIssuer(fault: unknown): boolean {
  return fault instanceof LoginError && fault.code === 'answer_issuer_invalid'
}

function judgePage(response: Response, url: URL, { client, origin }: DomainSettings): Verdict {
  const { status } = response
  const target = redirectOf(response, url)
  const where = target ? ` to ${printableText(target.origin + target.pathname)}` : ''
  const isError = target ? /error/i.test(target.pathname + target.search) : status >= 400
  if (status >= 500) {
    const text = `The authorization endpoint reports an internal error. Check the logs of the IdP and of the proxy in front of it. [status: ${status}]`
    return { question, verdict: 'fail', text }
  }
  if (isError) {
    const advice = isLeftFromTest(client.redirect_uri, origin)
      ? `${client.redirect_uri} leads to the user's own machine. Do not register it; set \`client.redirect_uri\` to an address on ${origin}, and register that one`
      : `Register exactly ${client.redirect_uri}`
    const text = `No answer came back: the IdP shows a page of its own${where}. It does not know the client or this redirect address, or the client is disabled. ${advice}, for the client ${printableText(client.client_id)}. The IdP's log names the reason. [status: ${status}]`
    return { question, verdict: 'fail', text }
  }
  const text = `No answer came back: the IdP ${target ? 'redirects the browser' : 'shows a page'}${where}, although \`prompt=none\` forbids pages. It may be the login page of an IdP that does not support \`prompt=none\`, or a page with an error. Start a login to see it. [status: ${status}]`
  return { question, verdict: 'warn', text }
}

/** Whether the redirect address is left from a test: plain HTTP is allowed on loopback only. */
function isLeftFromTest(redirectUri: string, origin: string): boolean {
  const { protocol, hostname } = new URL(redirectUri)
  return protocol === 'http:' && hostname !== new URL(origin).hostname
}

/**
 * Reads the answer that a page posts to the redirect address, if any (OAuth 2.0 Form Post Response Mode).
 *
 * @param html not trusted, so patterns must take linear time
 */
function formAnswer(html: string, redirectUri: string): URLSearchParams | undefined {
  const [form] = html.match(/<form\b[^<>]*>/i) ?? []
  if (form === undefined || attribute(form, 'action') !== redirectUri) return undefined
  const answer = new URLSearchParams()
  for (const input of html.match(/<input\b[^<>]*>/gi) ?? []) {
    const name = attribute(input, 'name')
    if (name !== undefined) answer.append(name, attribute(input, 'value') ?? '')
  }
  return answer
}

function attribute(tag: string, name: string): string | undefined {
  const match = new RegExp(`\\s${name}=(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(tag)
  const value = match?.[1] ?? match?.[2] ?? match?.[3]
  return value?.replace(/&(?:#(\d{1,6})|#x([0-9a-f]{1,5})|(amp|quot|lt|gt|apos));/gi, character)
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', quot: '"', lt: '<', gt: '>', apos: "'" }

function character(whole: string, decimal?: string, hexadecimal?: string, named?: string): string {
  if (named !== undefined) return NAMED[named.toLowerCase()] ?? whole
  return String.fromCodePoint(decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number(decimal))
}
