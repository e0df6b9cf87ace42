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
 * What there is to say to a request that forbids a page, when nobody is signed in. Source: OpenID Connect Core 1.0,
 * section 3.1.2.6.
 */
const NOBODY_IS_IN = ['login_required', 'interaction_required', 'consent_required', 'account_selection_required']
/** Of the moment, or of nobody: the answer came to the right place all the same. */
const PASSING = ['access_denied', 'server_error', 'temporarily_unavailable']

export interface RegistrationDeps {
  readonly client: Pick<ProviderClient, 'authorizationUrl' | 'openAnswer' | 'redeem'>
  /** Limited, without this server's certificate: a browser has none. */
  readonly fetch: Fetch
  readonly now: () => number
}

/**
 * Asks for a login without any page (`prompt=none`), as a browser in which nobody is signed in. An IdP that knows the
 * client and its redirect address sends the browser there with an error; one that does not must not send it anywhere
 * (RFC 6749, section 4.1.2.1). Never rejects.
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

/** What came back to the redirect address: in its query, in its fragment, or as a form. Undefined: nothing did. */
async function answerIn(response: Response, url: URL, redirectUri: string): Promise<URLSearchParams | undefined> {
  const target = redirectOf(response, url)
  // Some give the form that brings an error the status of the error.
  if (!target) return formAnswer(await response.text(), redirectUri)
  const own = new URL(redirectUri)
  if (target.origin !== own.origin || target.pathname !== own.pathname) return undefined
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
  // Nothing is redeemed of a login that somebody else may have made of it.
  if (answer.has('code') || answer.has('id_token')) return { question, verdict: 'ok', text: registered }
  const fault = await openAnswer(answer)
    .then((opened) => redeem(opened, transaction))
    .then(
      () => undefined,
      (error: unknown) => error,
    )
  const error = fault instanceof LoginError && fault.code === 'provider_error' ? String(fault.details.error) : ''
  if (NOBODY_IS_IN.includes(error)) return { question, verdict: 'ok', text: `${registered}, with ${error}` }
  // Some send it with what succeeds alone (Canaille does), though all answers have to have it (RFC 9207, section 2).
  if (isWithoutIssuer(fault) && NOBODY_IS_IN.includes(answer.get('error') ?? '')) {
    const text = `Both are registered: the answer came to ${redirectUri}. But what the IdP refuses comes without the \`iss\` that it publishes, and the log will speak of that in place of its reason.`
    return { question, verdict: 'warn', text }
  }
  const text = `The answer came to ${redirectUri}. ${faultInWords(fault)}`
  return { question, verdict: PASSING.includes(error) ? 'warn' : 'fail', text }
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
    const text = `The authorization endpoint failed in itself: look into the log of the IdP, and of the proxy before it. [status: ${status}]`
    return { question, verdict: 'fail', text }
  }
  if (isError) {
    const advice = isLeftFromTest(client.redirect_uri, origin)
      ? `${client.redirect_uri} leads to the user's own machine: do not register it, write one on ${origin} as \`client.redirect_uri\`, and register that one`
      : `Register ${client.redirect_uri}, to the letter`
    const text = `Nothing comes back: the IdP answers with a page of its own${where}. It does not know the client or this redirect address, or the client is switched off. ${advice}, for the client ${printableText(client.client_id)}; its own log names the reason. [status: ${status}]`
    return { question, verdict: 'fail', text }
  }
  const text = `Nothing comes back: the IdP ${target ? 'sends the browser' : 'shows a page'}${where} though it was told to show none. That is its login page, where it does not know \`prompt=none\`, or a page that says what is wrong: begin a login to see it. [status: ${status}]`
  return { question, verdict: 'warn', text }
}

/** Plain HTTP is for loopback alone: at a server with a name, it is an address of a test. */
function isLeftFromTest(redirectUri: string, origin: string): boolean {
  const { protocol, hostname } = new URL(redirectUri)
  return protocol === 'http:' && hostname !== new URL(origin).hostname
}

/**
 * The answer in a page that posts itself to the redirect address (OAuth 2.0 Form Post Response Mode); undefined: the
 * page is none.
 *
 * @param html of an IdP, so of anybody: the patterns run through it once
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
  const found = new RegExp(`\\s${name}=(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(tag)
  const value = found?.[1] ?? found?.[2] ?? found?.[3]
  return value?.replace(/&(?:#(\d{1,6})|#x([0-9a-f]{1,5})|(amp|quot|lt|gt|apos));/gi, character)
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', quot: '"', lt: '<', gt: '>', apos: "'" }

function character(whole: string, decimal?: string, hexadecimal?: string, named?: string): string {
  if (named !== undefined) return NAMED[named.toLowerCase()] ?? whole
  return String.fromCodePoint(decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number(decimal))
}
