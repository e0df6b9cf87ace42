import type { SessionData, Store } from 'express-session'
import type { SessionTokens } from '../port.ts'
import { keyOfHandle } from '../revocations.ts'
import { createSeal, type Seal } from '../seal.ts'
import { NO_TOKENS, readSessionTokens } from '../sign-in-record.ts'
import { type StoreOperation, storeEntry } from './store-operations.ts'

/** Stores the sealed tokens of sessions in the session store. */
export interface ExpressTokens {
  /** Sets the secret that encrypts tokens. Until then, `keep` rejects. */
  sealBy(secret: string): void
  keep(store: Store, id: string, tokens: SessionTokens, until: number): Promise<void>
  /** Replaces a session's tokens. Does nothing if no tokens of the session are stored. */
  replace(store: Store, id: string, tokens: SessionTokens, until: number): Promise<void>
  read(store: Store, id: string): Promise<SessionTokens>
  remove(store: Store, id: string): Promise<void>
}

interface TokenEntry {
  readonly oidcTokens?: unknown
}

/**
 * Stores tokens beside the session. At a request's end, express-session writes the whole session back, which could
 * restore a used refresh token.
 *
 * @param now in milliseconds since 1970
 */
export function expressTokens(operate: StoreOperation, now: () => number): ExpressTokens {
  let seal: Seal | undefined
  const nameOf = (id: string) => `oidc-tokens-${keyOfHandle(id)}`

  async function sealedOf(store: Store, id: string): Promise<unknown> {
    const entry = await operate<(SessionData & TokenEntry) | null>('read tokens', (done) => store.get(nameOf(id), done))
    return entry?.oidcTokens
  }

  async function keep(store: Store, id: string, tokens: SessionTokens, until: number): Promise<void> {
    if (!seal) throw new Error('Tokens cannot be kept before the sessions are registered with the plugin.')
    const entry = storeEntry({ oidcTokens: seal.seal(JSON.stringify(tokens), id) } satisfies TokenEntry, until, now())
    await operate('keep tokens', (done) => store.set(nameOf(id), entry, done))
  }

  return {
    sealBy(secret) {
      seal = createSeal(secret, 'session tokens')
    },
    keep,
    async replace(store, id, tokens, until) {
      if ((await sealedOf(store, id)) !== undefined) await keep(store, id, tokens, until)
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
