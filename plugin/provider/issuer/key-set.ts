import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import type { Clock } from '../../clock.ts'
import { LoginError } from '../../errors.ts'
import type { Fetch } from '../http/limited-fetch.ts'

/** Keys are asked for at most this often, and are never older than that where a login is judged by them. */
const SECOND_MS = 1_000

/** How long somebody waits at most for one request after the other that fails. */
const MOST_SECONDS = 3

/** The public keys of an IdP as they were published at one time. */
export interface PublishedKeys {
  readonly jwks: JSONWebKeySet
  /** Finds the key that a token names, as jose wants it. */
  readonly find: JWTVerifyGetKey
}

/** One domain's keys of its IdP, for all that is signed by it: logins and logout tokens alike. */
export interface KeySet {
  /**
   * As they were published within the last second: a key that the IdP rotated in works at once, and one that it
   * withdrew stops working within a second. However many ask, the IdP is asked once a second.
   *
   * @param kid key id that is needed. Where the set lacks it, there is a second look as soon as the second is over:
   *   keys may have changed just after the first.
   * @throws LoginError `provider_unreachable`, or `id_token_invalid` where what is published there is of no use
   */
  current(jwksUri: string, kid?: string): Promise<PublishedKeys>
  /**
   * The last ones that were of use, if they came within this time; nobody is asked, so a key may have been withdrawn
   * since.
   */
  atHand(jwksUri: string, withinMs: number): PublishedKeys | undefined
  /** Milliseconds since those that were last of use were asked for; null: there were none yet. Nobody is asked. */
  ageMs(): number | null
  /** Ends all waiting. */
  close(): void
}

export interface KeySetDeps {
  /** Limited. */
  readonly fetch: Fetch
  readonly clock: Clock
}

interface KeyRequest {
  readonly address: string
  readonly at: number
  readonly outcome: Promise<ReadDocument>
  failed: boolean
}

/** Keys of use, and the document that they were read from. */
interface ReadDocument {
  readonly text: string
  readonly keys: PublishedKeys
}

export function createKeySet({ fetch, clock }: KeySetDeps): KeySet {
  let last: KeyRequest | undefined
  let useful: { readonly address: string; readonly at: number; readonly document: ReadDocument } | undefined
  const waiting = new Set<() => void>()
  let closed = false

  function ask(address: string): KeyRequest {
    const outcome = load(address, fetch, useful?.document)
    const asked: KeyRequest = { address, at: clock.elapsed(), outcome, failed: false }
    asked.outcome.then(
      (document) => {
        // One that took longer than the next has nothing new to say.
        if (useful === undefined || asked.at >= useful.at) useful = { address, at: asked.at, document }
      },
      () => {
        asked.failed = true
      },
    )
    return asked
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        timer.cancel()
        waiting.delete(end)
        resolve()
      }
      const timer = clock.after(ms, end)
      waiting.add(end)
    })
  }

  /** The latest request, if it is of this second and serves; else the next one, which all who wait for it share. */
  async function latest(address: string, unlike?: KeyRequest): Promise<KeyRequest> {
    for (let seconds = 0; ; seconds += 1) {
      const rest = last ? last.at + SECOND_MS - clock.elapsed() : 0
      // One that failed before is nothing to build on, unless they all do; those who were there in time share its
      // failure.
      const serves = last?.address === address && last !== unlike && (!last.failed || seconds >= MOST_SECONDS)
      if (last && rest > 0 && serves) return last
      if (closed) throw new LoginError('provider_unreachable', { details: { endpoint: 'jwks_uri' } })
      if (rest <= 0) {
        last = ask(address)
        return last
      }
      await pause(rest)
    }
  }

  return {
    async current(jwksUri, kid) {
      const request = await latest(jwksUri)
      const { keys } = await request.outcome
      if (kid === undefined || keys.jwks.keys.some((key) => key.kid === kid)) return keys
      return (await (await latest(jwksUri, request)).outcome).keys
    },
    atHand(jwksUri, withinMs) {
      return useful && useful.address === jwksUri && clock.elapsed() - useful.at <= withinMs
        ? useful.document.keys
        : undefined
    },
    ageMs: () => (useful ? clock.elapsed() - useful.at : null),
    close() {
      closed = true
      for (const end of waiting) end()
    },
  }
}

/** @param before what was published last: where it still is, its keys need not be imported once more */
async function load(address: string, fetch: Fetch, before: ReadDocument | undefined): Promise<ReadDocument> {
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
    if (text === before?.text) return before
    const jwks = JSON.parse(text) as JSONWebKeySet
    // Judged as a whole in there, and key by key when one is needed.
    const find = createLocalJWKSet(jwks)
    if (jwks.keys.length === 0) throw new Error('The key set is empty.')
    return { text, keys: { jwks, find } }
  } catch (cause) {
    const reason = 'what the IdP publishes at jwks_uri is no key set, or one without keys'
    const remedy = 'Check what the IdP publishes as its key set, and `issuer.jwks_uri` where it is set by hand.'
    throw new LoginError('id_token_invalid', { cause, details: { ...details, reason }, remedy })
  }
}
