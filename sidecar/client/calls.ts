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

/** What of `fetch` is used. */
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
  /** Where the sidecar is, without `/v1`, such as `https://push.example.org`. */
  readonly baseUrl: string
  /** Default: that of the platform. */
  readonly fetch?: Fetch
  readonly timers?: Timers
  /** For a whole call, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number
  /** Ends what is under way, which rejects with `closed`, as does whatever is asked for later. */
  readonly signal?: AbortSignal
}

/** The calls of the API, one request each. They reject with a {@link ClientError}. */
export interface Calls {
  register(body: RegisterBody): Promise<RegisterAnswer>
  sync(body: SyncBody): Promise<SyncAnswer>
  avatars(body: AvatarsBody): Promise<AvatarsAnswer>
  unregister(body: UnregisterBody): Promise<Stamped>
  /** The key that apps subscribe with; `not_found` while Web Push is off. */
  webPush(): Promise<WebPushAnswer>
}

export function createCalls(options: CallsOptions): Calls {
  const { baseUrl, fetch = globalThis.fetch, timers = platformTimers, timeoutMs = 30_000, signal } = options
  const base = withoutTrailingSlashes(baseUrl)

  /** `members`: what an answer has at least; a page that a proxy or a network puts in its place has not. */
  async function call<Answer>(path: string, body: object | undefined, members: Members): Promise<Answer> {
    const { status, content } = await exchange(path, body)
    if (status === 200 && hasMembers<Answer>(content, members)) return content
    if (status !== 200 && hasMembers<Refusal>(content, { error: 'string' }) && isApiCode(content.error))
      throw new ClientError(content.error, String(content.message), { details: content.details ?? [] })
    // What a rate limit is behind a proxy; without one the connection ends.
    if (status === 429) throw new ClientError('unreachable', `${base} takes no more calls from here now.`)
    throw new ClientError('bad_answer', `${base} did not answer ${path} as a sidecar does (status ${status}).`)
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
    register: (body) => call('/v1/register', body, { serverTime: 'number', avatarHash: 'string', avatars: 'object' }),
    sync: (body) => call('/v1/sync', body, { serverTime: 'number', messages: 'object', avatars: 'object' }),
    avatars: (body) => call('/v1/avatars', body, { serverTime: 'number', avatars: 'object' }),
    unregister: (body) => call('/v1/unregister', body, { serverTime: 'number' }),
    webPush: () => call('/v1/webpush', undefined, { publicKey: 'string' }),
  }
}

type Members = Readonly<Record<string, 'number' | 'string' | 'object'>>

interface Refusal {
  readonly error: string
  readonly message?: unknown
  readonly details?: ClientError['details']
}

/** Undefined for what is no JSON; throws where the answer broke off. */
async function contentOf(answer: { json(): Promise<unknown> }, signal: AbortSignal): Promise<unknown> {
  try {
    return await answer.json()
  } catch (error) {
    if (error instanceof SyntaxError && !signal.aborted) return undefined
    throw error
  }
}

function hasMembers<Answer>(content: unknown, members: Members): content is Answer {
  const found: Record<string, unknown> = Object(content)
  return Object.entries(members).every(([name, type]) => found[name] !== null && typeof found[name] === type)
}

/** In linear time, as no regular expression does it. */
function withoutTrailingSlashes(address: string): string {
  let end = address.length
  while (address[end - 1] === '/') end -= 1
  return address.slice(0, end)
}
