import { type JsonObject, membersOf } from '../../config/json/json-object.ts'
import { printableText } from '../../log.ts'
import { type Fetch, MAY_HAVE_NO_BODY } from './limited-fetch.ts'

/** Describes an unsuccessful request to an IdP, for a log line. */
export interface Exchange {
  /** The endpoint's name in the IdP's metadata, such as `token_endpoint`. */
  readonly endpoint: string
  /** The address without its query. */
  readonly address: string
}

/**
 * Describes an unsuccessful answer, for a log line. Texts are sanitized, shortened, and contain no secrets of the
 * request.
 */
export interface RefusedExchange extends Exchange {
  readonly status: number
  /** The content type that the answer declares, if any. */
  readonly contentType?: string
  /** The target of a redirect, without its query. */
  readonly location?: string
  /** The IdP's error code, from the body or else from the `WWW-Authenticate` header. */
  readonly error?: string
  readonly errorDescription?: string
}

/**
 * An unsuccessful answer with the details that a log line needs. openid-client keeps these details only for some
 * answers.
 */
export class NotedAnswer extends Response {
  readonly refusal: RefusedExchange
  constructor(body: string | null, { status, statusText, headers }: Response, refusal: RefusedExchange) {
    super(body, { status, statusText, headers })
    this.refusal = refusal
  }
}

/** An error for a request that got no answer, or no answer within the limits. `cause` contains the reason. */
export class UnansweredRequest extends Error {
  override readonly name = 'UnansweredRequest'
  readonly exchange: Exchange
  constructor(exchange: Exchange, cause: unknown) {
    super(`The ${exchange.endpoint} did not answer`, { cause })
    this.exchange = exchange
  }
}

/**
 * Wraps a `fetch` so that unsuccessful answers keep details for the log.
 *
 * @param endpointOf returns the name of a published endpoint
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

/** An HTML page with status 200 is not a success: it may be the login page of a proxy. */
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
  const errorDescription = description ?? parameterOf(challenge, 'error_description')
  const clean = (value: string) => short(secrets.reduce((text, secret) => text.replaceAll(secret, '(hidden)'), value))
  return {
    ...(typeof error === 'string' && error !== '' ? { error: clean(error) } : {}),
    ...(typeof errorDescription === 'string' && errorDescription !== ''
      ? { errorDescription: clean(errorDescription) }
      : {}),
  }
}

function errorIn(body: string): JsonObject {
  try {
    return membersOf(JSON.parse(body))
  } catch {
    return {}
  }
}

/** Reads a parameter of the `WWW-Authenticate` header without a full parser, because some IdPs omit the scheme. */
function parameterOf(challenge: string, name: string): string | undefined {
  const match = new RegExp(`(?:^|[\\s,])${name}\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s",]+))`, 'i').exec(challenge)
  return match?.[1]?.replace(/\\(.)/g, '$1') ?? match?.[2]
}

const SECRETS = ['client_secret', 'client_assertion', 'code', 'code_verifier', 'refresh_token', 'token']
/**
 * Least length of a secret that is replaced in texts of the IdP, in characters. A shorter secret also occurs within
 * ordinary words.
 */
const SHORTEST_SECRET = 4

/** Returns the secrets of the request. Some IdPs repeat them in their errors, so they must be hidden in the log. */
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

const MAX_LENGTH = 200

function short(text: string): string {
  const clean = printableText(text)
  return clean.length > MAX_LENGTH ? `${clean.slice(0, MAX_LENGTH)}…` : clean
}
