import type { Clock } from '../../clock.ts'
import { cookieSignIn } from '../../host/cookie-session.ts'
import type { OpenSession, Sessions } from '../../host/port.ts'
import type { RevocationStore } from '../../host/revocation-store.ts'
import { keyOfHandle, keysOfEnded } from '../../host/revocations.ts'
import type { MeshRequest } from '../server.ts'
import type { Endings, OpenSessions, SeenSession } from './open-sessions.ts'
import type { SessionSecrets } from './session-secrets.ts'
import { type MeshSessions, ownSession } from './sessions.ts'

export interface KeptSessionsOptions {
  readonly secrets: SessionSecrets
  readonly open: OpenSessions
  readonly ended: Pick<RevocationStore, 'revoke'>
  /** Absent: there is one server. */
  readonly lease?: Sessions['lease'] | undefined
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
  const { secrets, open, ended, lease, clock, maxAgeMs, onFailure } = options
  const { endOne, ...base } = sessions

  function told(session: SeenSession): OpenSession {
    const { handle, ...signIn } = session.signIn
    return {
      id: keyOfHandle(handle),
      signIn,
      read: () => secrets.read(handle),
      write: (kept) => secrets.replace(handle, kept),
      async end() {
        await endOne(session)
        secrets.remove(handle)
      },
    }
  }

  /** What nobody can be asked about any more would outlive its end at the IdP. */
  async function endOldest(keys: readonly string[]): Promise<void> {
    await Promise.all([ended.revoke(keys, clock.now(), clock.now() + maxAgeMs), ...open.find(keys).map(endOne)])
  }

  return {
    ...base,
    ...(lease ? { lease } : {}),

    async start(req, res, signIn) {
      const before = cookieSignIn(req)
      await base.start(req, res, signIn)
      const begun = cookieSignIn(req)
      if (begun && begun.handle === before?.handle) return
      if (before) secrets.remove(before.handle)
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
      return own ? secrets.read(own.signIn.handle) : { idToken: null, tokens: null }
    },

    async knows(_req, those) {
      const keys = keysOfEnded(those)
      return open.find(keys).length > 0 || secrets.hasMatching(keys)
    },

    matching: async (_req, those) => open.find(keysOfEnded(those)).map(told),

    *inUse(domainKey, before) {
      for (const session of open.inUse(domainKey, before)) {
        open.taken(session)
        yield told(session)
      }
    },
  }
}
