import { ClientError, closedError, isApiCode } from './client-error.ts'
import { platformTimers, type Timers } from './timers.ts'
import type {
  AvatarsAnswer,
  AvatarsBody,
  RegisterAnswer,
  RegisterBody,
  Stamped,
  SyncAnswer,
  SyncBody,
  UnregisterBody,
  WebPushAnswer,
} from './wire/bodies.ts'

/** The part of `fetch` that the client uses. */
export type Fetch = (
  address: string,
  init: {
    readonly method: string
    readonly headers: Record<string, string>
    readonly body?: string
    readonly signal: AbortSignal
  },
) => Promise<{ readonly status: number; json(): Promise<unknown> }>

export interface CallsOptions {
  /** The sidecar's address without `/v1`, such as `https://push.example.org`. */
  readonly baseUrl: string
  /** The function that sends requests. Default: the platform's `fetch`. */
  readonly fetch?: Fetch
  readonly timers?: Timers
  /** Time limit of a whole request, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number
  /** Aborting this signal makes open and later requests reject with `closed`. */
  readonly signal?: AbortSignal
}

/** The requests of the API. Each rejects with a {@link ClientError}. */
export interface Calls {
  register(body: RegisterBody): Promise<RegisterAnswer>
  sync(body: SyncBody): Promise<SyncAnswer>
  avatars(body: AvatarsBody): Promise<AvatarsAnswer>
  unregister(body: UnregisterBody): Promise<Stamped>
  /** Returns the public key that apps need to subscribe to Web Push. Rejects with `not_found` while Web Push is off. */
  webPush(): Promise<WebPushAnswer>
}

export function createCalls(options: CallsOptions): Calls {
  const { baseUrl, fetch = globalThis.fetch, timers = platformTimers, timeoutMs = 30_000, signal } = options
  const base = withoutTrailingSlashes(baseUrl)

  /** @param members members that the answer must have; a page of a proxy or a captive portal lacks them */
  async function send<Answer>(path: string, body: object | undefined, members: Members): Promise<Answer> {
    const { status, content } = await exchange(path, body)
    if (status === 200 && hasMembers<Answer>(content, members)) return content
    if (status !== 200 && hasMembers<Refusal>(content, { error: 'string' }) && isApiCode(content.error))
      throw new ClientError(content.error, String(content.message), { details: content.details ?? [] })
    // A proxy in front of the sidecar reports a rate limit with status 429. The sidecar itself closes the connection
    // instead.
    if (status === 429)
      throw new ClientError(
        'unreachable',
        `${base} refused ${path}: too many requests from this address. Try again later.`,
      )
    throw new ClientError(
      'bad_answer',
      `The answer of ${base} to ${path} does not come from a sidecar (status ${status}). Check baseUrl and the proxy.`,
    )
  }

  async function exchange(path: string, body: object | undefined) {
    if (signal?.aborted) throw closedError()
    const abort = new AbortController()
    const end = () => abort.abort()
    const limit = timers.after(timeoutMs, end)
    signal?.addEventListener('abort', end)
    try {
      const answer = await fetch(`${base}${path}`, {
        ...(body ? { method: 'POST', body: JSON.stringify(body) } : { method: 'GET' }),
        headers: body ? { 'Content-Type': 'application/json' } : {},
        signal: abort.signal,
      })
      return { status: answer.status, content: await contentOf(answer, abort.signal) }
    } catch (cause) {
      if (signal?.aborted) throw closedError()
      throw new ClientError('unreachable', `${base} did not answer ${path}.`, { cause })
    } finally {
      limit.cancel()
      signal?.removeEventListener('abort', end)
    }
  }

  return {
    register: (body) => send('/v1/register', body, { serverTime: 'number', avatarHash: 'string', avatars: 'object' }),
    sync: (body) => send('/v1/sync', body, { serverTime: 'number', messages: 'object', avatars: 'object' }),
    avatars: (body) => send('/v1/avatars', body, { serverTime: 'number', avatars: 'object' }),
    unregister: (body) => send('/v1/unregister', body, { serverTime: 'number' }),
    webPush: () => send('/v1/webpush', undefined, { publicKey: 'string' }),
  }
}

type Members = Readonly<Record<string, 'number' | 'string' | 'object'>>

interface Refusal {
  readonly error: string
  readonly message?: unknown
  readonly details?: ClientError['details']
}

/** Returns the answer's JSON; undefined if the content is not JSON. Throws if the connection breaks. */
async function contentOf(answer: { json(): Promise<unknown> }, signal: AbortSignal): Promise<unknown> {
  try {
    return await answer.json()
  } catch (error) {
    if (error instanceof SyntaxError && !signal.aborted) return undefined
    throw error
  }
}

function hasMembers<Answer>(content: unknown, members: Members): content is Answer {
  const values: Record<string, unknown> = Object(content)
  return Object.entries(members).every(([name, type]) => values[name] !== null && typeof values[name] === type)
}

/** Strips slashes in linear time. A regular expression could take quadratic time. */
function withoutTrailingSlashes(address: string): string {
  let end = address.length
  while (address[end - 1] === '/') end -= 1
  return address.slice(0, end)
}
