import type { SessionData, Store } from 'express-session'
import type { SessionTokens } from '../port.ts'
import { keyOfHandle } from '../revocations.ts'
import { createSeal, type Seal } from '../seal.ts'
import { NO_TOKENS, readSessionTokens } from '../sign-in-record.ts'

/** One operation of a session store, within its time. */
export type StoreOperation = <Result = void>(
  what: string,
  run: (done: (error?: unknown, result?: Result) => void) => void,
) => Promise<Result | undefined>

/** Tokens of sessions, sealed, in the store where the sessions lie. */
export interface ExpressTokens {
  /** From now on, with this secret; until then nothing can be kept. */
  sealBy(secret: string): void
  keep(store: Store, id: string, kept: SessionTokens, until: number): Promise<void>
  /** In the place of those that are kept; nothing where none are. */
  replace(store: Store, id: string, kept: SessionTokens, until: number): Promise<void>
  read(store: Store, id: string): Promise<SessionTokens>
  remove(store: Store, id: string): Promise<void>
}

const KEY = 'oidcTokens'

/**
 * Each has an entry of its own beside that of its session: a request under way writes a whole session back as it began
 * with it, and the refresh token that it brought back would be used up. No browser gets to it by a cookie: nobody is
 * signed in by it.
 *
 * @param now milliseconds since 1970
 */
export function expressTokens(operate: StoreOperation, now: () => number): ExpressTokens {
  let seal: Seal | undefined
  const nameOf = (id: string) => `oidc-tokens-${keyOfHandle(id)}`

  async function sealedOf(store: Store, id: string): Promise<unknown> {
    const entry = await operate<SessionData | null>('read tokens', (done) => store.get(nameOf(id), done))
    return entry ? Reflect.get(entry, KEY) : undefined
  }

  async function keep(store: Store, id: string, kept: SessionTokens, until: number): Promise<void> {
    if (!seal) throw new Error('Tokens are kept once the sessions are registered with the plugin.')
    const leftMs = until - now()
    // Stores read from it how long to keep an entry.
    const cookie = { originalMaxAge: leftMs, maxAge: leftMs, expires: new Date(until), path: '/', httpOnly: true }
    const entry = { cookie, [KEY]: seal.seal(JSON.stringify(kept), id) } as SessionData
    await operate('keep tokens', (done) => store.set(nameOf(id), entry, done))
  }

  return {
    sealBy(secret) {
      seal = createSeal(secret, 'session tokens')
    },
    keep,
    async replace(store, id, kept, until) {
      if ((await sealedOf(store, id)) !== undefined) await keep(store, id, kept, until)
    },
    async read(store, id) {
      const sealed = await sealedOf(store, id)
      const text = typeof sealed === 'string' ? seal?.open(sealed, id) : undefined
      return text ? readSessionTokens(JSON.parse(text)) : NO_TOKENS
    },
    async remove(store, id) {
      await operate('remove tokens', (done) => store.destroy(nameOf(id), done))
    },
  }
}
