import type { Clock } from '../../clock.ts'
import { cookieSignIn } from '../../host/cookie-session.ts'
import type { OpenSession, Sessions } from '../../host/port.ts'
import type { RevocationStore } from '../../host/revocation-store.ts'
import { keysOfEnded } from '../../host/revocations.ts'
import type { MeshRequest } from '../server.ts'
import type { Endings, OpenSessions, SeenSession } from './open-sessions.ts'
import type { Secrets, SessionSecrets } from './session-secrets.ts'
import { type MeshSessions, ownSession } from './sessions.ts'

export interface KeptSessionsOptions {
  readonly secrets: SessionSecrets
  readonly open: OpenSessions
  readonly ended: Pick<RevocationStore, 'revoke'>
  readonly clock: Clock
  /** How long a session counts after its login. */
  readonly maxAgeMs: number
  /** Called when a session that should have ended did not. */
  readonly onFailure: (error: unknown) => void
}

export interface KeptSessions extends Sessions {
  /** Closes what another server of the same database has ended, and lets its tokens go. */
  endedElsewhere(endings: Endings): Promise<void>
}

/**
 * The same sessions, whose tokens are kept on the server as long as they last: so the IdP can be asked about them, and its tokens be
 * revoked. Only sessions that this process has seen are told of.
 */
export function keptSessions(sessions: MeshSessions, options: KeptSessionsOptions): KeptSessions {
  const { secrets, open, ended, clock, maxAgeMs, onFailure } = options
  const { endOne, ...base } = sessions

  /**
   * What came in the place of what the database has, and does not lie there yet: an IdP may call that used up, and so inactive. Here until
   * it does, and no longer than the session is open.
   */
  const unwritten = new WeakMap<SeenSession, Secrets>()

  /** Nothing where nothing is kept, as after its end. @throws Error when the database does not answer */
  async function read(session: SeenSession): Promise<Secrets> {
    const before = unwritten.get(session)
    const kept = await secrets.read(session.signIn.handle)
    // It may have come, or have been written, meanwhile.
    return kept.tokens ? (unwritten.get(session) ?? before ?? kept) : kept
  }

  /** @throws Error when the database does not take it: then it counts all the same */
  async function write(session: SeenSession, fresh: Secrets): Promise<void> {
    unwritten.set(session, fresh)
    await secrets.replace(session.signIn.handle, fresh)
    if (unwritten.get(session) === fresh) unwritten.delete(session)
  }

  async function told(session: SeenSession): Promise<OpenSession> {
    return withSecrets(session, await read(session))
  }

  function withSecrets(session: SeenSession, kept: Secrets): OpenSession {
    const { handle, ...record } = session.signIn
    /** The IdP is asked about these. */
    let current = kept
    return {
      signIn: { ...record, ...kept },
      async end() {
        const { tokens } = await read(session)
        if (tokens?.access !== current.tokens?.access) return false
        await endOne(session)
        secrets.remove(handle)
        return true
      },
      async renewed(tokens) {
        current = { ...kept, tokens }
        await write(session, current)
        return withSecrets(session, current)
      },
    }
  }

  /** What nobody can be asked about any more would outlive its end at the IdP. */
  async function endOldest(keys: readonly string[]): Promise<void> {
    await Promise.all([ended.revoke(keys, clock.now(), clock.now() + maxAgeMs), ...open.find(keys).map(endOne)])
  }

  return {
    ...base,

    async start(req, res, signIn) {
      const before = cookieSignIn(req)
      await base.start(req, res, signIn)
      if (before) secrets.remove(before.handle)
      const begun = cookieSignIn(req)
      if (!begun) return
      const tooMany = secrets.keep(signIn, begun.handle, begun.startedAt + maxAgeMs)
      if (tooMany.length > 0) endOldest(tooMany).catch(onFailure)
    },

    async end(req, res) {
      const before = cookieSignIn(req)
      await base.end(req, res)
      if (before) secrets.remove(before.handle)
    },

    async endMatching(req, those) {
      const count = await base.endMatching(req, those)
      secrets.removeMatching(keysOfEnded(those))
      return count
    },

    async endedElsewhere(endings) {
      for (const { signIn } of await base.endedElsewhere(endings)) secrets.remove(signIn.handle)
    },

    async kept(req) {
      const own = ownSession(req as MeshRequest)
      if (!own) return { idToken: null, tokens: null }
      return read(open.named(own.user, own.x) ?? own)
    },

    // One after the other: there are a few of one person, and the database is busy enough.
    async matching(_req, those) {
      const found: OpenSession[] = []
      for (const session of open.find(keysOfEnded(those))) found.push(await told(session))
      return found
    },

    async *inUse(domainKey, before) {
      for (const session of open.inUse(domainKey, before)) {
        const fresh = unwritten.get(session)
        // That it could not be written was told of when it came, and is again when the next comes.
        if (fresh) await write(session, fresh).catch(() => undefined)
        const at = clock.now()
        const taken = (isAnswered: boolean) => open.taken(session, at, isAnswered)
        const kept = await told(session).catch((error: unknown) => {
          // It would come first the next time too, and keep all others from their turn.
          taken(false)
          throw error
        })
        yield { ...kept, taken }
      }
    },
  }
}
