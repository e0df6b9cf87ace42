import { type JsonObject, membersOf } from '../../config/json/json-object.ts'
import { printableText } from '../../log.ts'
import { type Fetch, MAY_HAVE_NO_BODY } from './limited-fetch.ts'

/** What a log line says of a request to an IdP that was not answered as it should be. */
export interface Exchange {
  /** Name in the IdP's metadata, such as `token_endpoint`. */
  readonly endpoint: string
  /** Without its query. */
  readonly address: string
}

/** The answer, as far as it is fit for a log: cleaned, short, and without what the request held of secrets. */
export interface RefusedExchange extends Exchange {
  readonly status: number
  /** What the body is said to be; undefined where nothing is said. */
  readonly contentType?: string
  /** Where a redirect leads, without its query. */
  readonly location?: string
  /** The IdP's words: of the body, else of the header `WWW-Authenticate`. */
  readonly error?: string
  readonly errorDescription?: string
}

/**
 * An answer that is no success. openid-client keeps the status of some, the words of some others, and nothing of most.
 */
export class NotedAnswer extends Response {
  readonly refusal: RefusedExchange
  constructor(body: string | null, { status, statusText, headers }: Response, refusal: RefusedExchange) {
    super(body, { status, statusText, headers })
    this.refusal = refusal
  }
}

/** No answer came, or none within the limits; `cause` says why. */
export class UnansweredRequest extends Error {
  override readonly name = 'UnansweredRequest'
  readonly exchange: Exchange
  constructor(exchange: Exchange, cause: unknown) {
    super(`The ${exchange.endpoint} did not answer`, { cause })
    this.exchange = exchange
  }
}

/**
 * Keeps what a log line needs of answers that are no success.
 *
 * @param endpointOf name of the endpoint at an address; undefined: it is none that the IdP publishes
 */
export function noteExchanges(inner: Fetch, endpointOf: (address: string) => string | undefined): Fetch {
  return async (url, init) => {
    const exchange = () => ({ endpoint: endpointOf(url) ?? 'other', address: withoutQuery(url) })
    const response = await inner(url, init).catch((error: unknown) => {
      throw new UnansweredRequest(exchange(), error)
    })
    if (isSuccess(response)) return response
    const { status, headers } = response
    const text = await response.text()
    const words = wordsOf(text, headers.get('www-authenticate') ?? '', secretsOf(init))
    const [contentType] = (headers.get('content-type') ?? '').split(';', 1)
    const location = headers.get('location')
    const refusal = {
      ...exchange(),
      status,
      ...(contentType ? { contentType: short(contentType) } : {}),
      ...(location !== null && URL.canParse(location, url)
        ? { location: withoutQuery(new URL(location, url).href) }
        : {}),
      ...words,
    }
    return new NotedAnswer(MAY_HAVE_NO_BODY.includes(status) ? null : text, response, refusal)
  }
}

/** A page with status 200 is none: a proxy answers so that wants somebody to sign in. */
function isSuccess({ status, headers }: Response): boolean {
  if (status < 200 || status > 299) return false
  const type = headers.get('content-type')
  return status !== 200 || type === null || !/^text\/html\b/i.test(type)
}

function wordsOf(
  body: string,
  challenge: string,
  secrets: readonly string[],
): Pick<RefusedExchange, 'error' | 'errorDescription'> {
  const { error = parameterOf(challenge, 'error'), error_description: description } = errorIn(body)
  const told = description ?? parameterOf(challenge, 'error_description')
  const clean = (value: string) => short(secrets.reduce((text, secret) => text.replaceAll(secret, '(hidden)'), value))
  return {
    ...(typeof error === 'string' && error !== '' ? { error: clean(error) } : {}),
    ...(typeof told === 'string' && told !== '' ? { errorDescription: clean(told) } : {}),
  }
}

function errorIn(body: string): JsonObject {
  try {
    return membersOf(JSON.parse(body))
  } catch {
    return {}
  }
}

/** Some leave the scheme of the header out, and no parser of the grammar reads what is left. */
function parameterOf(challenge: string, name: string): string | undefined {
  const found = new RegExp(`(?:^|[\\s,])${name}\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s",]+))`, 'i').exec(challenge)
  return found?.[1]?.replace(/\\(.)/g, '$1') ?? found?.[2]
}

const SECRETS = ['client_secret', 'client_assertion', 'code', 'code_verifier', 'refresh_token', 'token']
/** Shorter ones would black out letters of ordinary words. */
const SHORTEST_SECRET = 4

/** What the request held that some IdPs repeat in their words. */
function secretsOf({ body, headers }: Parameters<Fetch>[1]): readonly string[] {
  const sent = body instanceof URLSearchParams ? SECRETS.flatMap((name) => body.getAll(name)) : []
  const [, credentials = ''] = (headers.authorization ?? '').split(' ')
  const [, password = ''] = /^[^:]*:(.*)$/s.exec(Buffer.from(credentials, 'base64').toString()) ?? []
  return [...sent, credentials, password, decoded(password)].filter((text) => text.length >= SHORTEST_SECRET)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function withoutQuery(address: string): string {
  const { origin, pathname } = new URL(address)
  return short(origin + pathname)
}

const LONGEST = 200

function short(text: string): string {
  const clean = printableText(text)
  return clean.length > LONGEST ? `${clean.slice(0, LONGEST)}…` : clean
}
