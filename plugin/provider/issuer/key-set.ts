import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import type { Clock } from '../../clock.ts'
import { LoginError } from '../../errors.ts'
import type { Fetch } from '../http/limited-fetch.ts'

/** The shortest time between two key requests. It is also the limit of the age of keys that verify a login. */
const SECOND_MS = 1_000

/**
 * How many times a caller waits for another key request if the latest one failed. After these waits, the caller gets
 * the error of the failed request.
 */
const MAX_FAILURES = 3

/** The public keys of an IdP, as published at one time. */
export interface PublishedKeys {
  readonly jwks: JSONWebKeySet
  /** Finds the key that a token names. The library jose calls this function to verify a token. */
  readonly find: JWTVerifyGetKey
}

/** The keys of one domain's IdP. They verify logins and logout tokens. */
export interface KeySet {
  /**
   * Returns the keys as published within the last second. So added and withdrawn keys take effect within a second, with
   * one request at most.
   *
   * @param kid the needed key. If the set lacks it, it is requested once more when the second is over
   * @throws LoginError `provider_unreachable`, or `id_token_invalid` if the published document is no usable key set
   */
  current(jwksUri: string, kid?: string): Promise<PublishedKeys>
  /**
   * Returns the last usable keys without a request, if they were requested within the given time. The IdP may have
   * withdrawn a key since then.
   */
  atHand(jwksUri: string, withinMs: number): PublishedKeys | undefined
  /**
   * Returns the milliseconds since the last usable keys were requested, or null if there are none. Sends no request.
   */
  ageMs(): number | null
  /** Wakes all waiting callers. Their calls throw `provider_unreachable`. */
  close(): void
}

export interface KeySetDeps {
  /** A `fetch` with time and size limits. */
  readonly fetch: Fetch
  readonly clock: Clock
}

interface KeyRequest {
  readonly address: string
  readonly sentAt: number
  readonly outcome: Promise<ReadDocument>
  failed: boolean
}

/** Usable keys, and the document that they were read from. */
interface ReadDocument {
  readonly text: string
  readonly keys: PublishedKeys
}

interface UsableKeys {
  readonly address: string
  readonly requestedAt: number
  readonly document: ReadDocument
}

export function createKeySet(deps: KeySetDeps): KeySet {
  return new ThrottledKeySet(deps)
}

/**
 * Requests the key set at most once a second, and shares each request among all callers.
 *
 * A caller joins the latest request if that was sent within this second, to the same address, and has not failed.
 * Otherwise it waits until the second has passed, and joins or sends the next one. After three waits it accepts a
 * failed request too. The last usable keys survive failed requests. Once closed, the set sends no request, and waiting
 * callers get `provider_unreachable`.
 */
class ThrottledKeySet implements KeySet {
  readonly #fetch: Fetch
  readonly #clock: Clock
  readonly #pauses = new Set<() => void>()
  #latest: KeyRequest | undefined
  #usable: UsableKeys | undefined
  #closed = false

  constructor({ fetch, clock }: KeySetDeps) {
    this.#fetch = fetch
    this.#clock = clock
  }

  async current(jwksUri: string, kid?: string): Promise<PublishedKeys> {
    const request = await this.#join(jwksUri)
    const { keys } = await request.outcome
    if (kid === undefined || keys.jwks.keys.some((key) => key.kid === kid)) return keys
    const next = await this.#join(jwksUri, request)
    return (await next.outcome).keys
  }

  atHand(jwksUri: string, withinMs: number): PublishedKeys | undefined {
    const usable = this.#usable
    if (usable?.address !== jwksUri || this.#clock.elapsed() - usable.requestedAt > withinMs) return undefined
    return usable.document.keys
  }

  ageMs(): number | null {
    return this.#usable ? this.#clock.elapsed() - this.#usable.requestedAt : null
  }

  close(): void {
    this.#closed = true
    for (const end of this.#pauses) end()
  }

  /**
   * Returns the key request of the last second, if usable. Otherwise waits, and joins or sends the next one.
   *
   * @param except a request that the caller has
   */
  async #join(address: string, except?: KeyRequest): Promise<KeyRequest> {
    for (let waits = 0; ; waits += 1) {
      const latest = this.#latest
      const remainingMs = latest ? latest.sentAt + SECOND_MS - this.#clock.elapsed() : 0
      const fits = latest?.address === address && latest !== except && (!latest.failed || waits >= MAX_FAILURES)
      if (latest && remainingMs > 0 && fits) return latest
      if (this.#closed) throw new LoginError('provider_unreachable', { details: { endpoint: 'jwks_uri' } })
      if (remainingMs <= 0) return this.#send(address)
      await this.#pause(remainingMs)
    }
  }

  #send(address: string): KeyRequest {
    const outcome = load(address, this.#fetch, this.#usable?.document)
    const request: KeyRequest = { address, sentAt: this.#clock.elapsed(), outcome, failed: false }
    this.#latest = request
    outcome.then(
      (document) => {
        // If a later key request was answered before this one, this answer is outdated.
        if (this.#usable && request.sentAt < this.#usable.requestedAt) return
        this.#usable = { address, requestedAt: request.sentAt, document }
      },
      () => {
        request.failed = true
      },
    )
    return request
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        timer.cancel()
        this.#pauses.delete(end)
        resolve()
      }
      const timer = this.#clock.after(ms, end)
      this.#pauses.add(end)
    })
  }
}

/**
 * Loads the key set.
 *
 * @param previous the last usable document. If the new one is equal, its keys are not imported again
 */
async function load(address: string, fetch: Fetch, previous: ReadDocument | undefined): Promise<ReadDocument> {
  const headers = { accept: 'application/json, application/jwk-set+json' }
  const details = { endpoint: 'jwks_uri' }
  const request = { method: 'GET', headers, body: undefined, redirect: 'manual' } as const
  const response = await fetch(address, request).catch((cause: unknown) => {
    throw new LoginError('provider_unreachable', { cause, details })
  })
  if (response.status !== 200) {
    throw new LoginError('provider_unreachable', { details: { ...details, status: response.status } })
  }
  try {
    const text = await response.text()
    if (text === previous?.text) return previous
    const jwks = JSON.parse(text) as JSONWebKeySet
    // Throws if the document is not a key set. Single keys are checked when they are needed.
    const find = createLocalJWKSet(jwks)
    if (jwks.keys.length === 0) throw new Error('The key set is empty.')
    return { text, keys: { jwks, find } }
  } catch (cause) {
    const reason = 'the document at jwks_uri is not a key set, or has no keys'
    const remedy = 'Check the key set that the IdP publishes, and `issuer.jwks_uri` if you set it.'
    throw new LoginError('id_token_invalid', { cause, details: { ...details, reason }, remedy })
  }
}
