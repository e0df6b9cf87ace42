import { EventEmitter } from 'node:events'
import type { MeshDatabase, MeshSocket } from '../../../../plugin/meshcentral/server.ts'
import { OpenSessions, type SeenSession } from '../../../../plugin/meshcentral/sessions/open-sessions.ts'
import { RevokedSessions } from '../../../../plugin/meshcentral/sessions/revoked-sessions.ts'
import { SessionSecrets } from '../../../../plugin/meshcentral/sessions/session-secrets.ts'
import { MeshSessions } from '../../../../plugin/meshcentral/sessions/sessions.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { standIn } from '../stand-in.ts'

export const USER = 'user//~oidc:1'

/** The part of MeshCentral's web sockets that these tests use. */
export class Socket extends EventEmitter implements MeshSocket {
  isOpen = true
  close(): void {
    this.isOpen = false
    this.emit('close')
  }
}

/** A session with `x of HANDLE` as its `x` in MeshCentral, and `sid of HANDLE` as its `sid` at the IdP. */
export function session(handle: string, startedAt = 1, user = USER): SeenSession {
  const signIn = { domainKey: '', userId: '~oidc:1', issuer: 'https://idp', subject: '1' } as const
  return { user, x: `x of ${handle}`, signIn: { ...signIn, sid: `sid of ${handle}`, startedAt, handle } }
}

export interface ServerOptions {
  readonly db?: MeshDatabase
  readonly now?: number
  /** How many sessions keep their tokens. */
  readonly most?: number
  /** Whether other servers use the same database. */
  readonly isShared?: boolean
}

/**
 * Returns a function that opens the sessions of a server with a separate clock. All are closed after each test. Call it
 * inside a `describe`.
 */
export function sessionsOfServers() {
  const opened: { close(): void }[] = []
  afterEach(() => {
    for (const part of opened.splice(0)) part.close()
  })
  return async ({ db, now = 10_000, most = 100, isShared = false }: ServerOptions = {}) => {
    const { server: common, web } = standIn()
    const server = db ? { ...common, db } : common
    const failures: unknown[] = []
    const onFailure = (error: unknown) => void failures.push(error)
    const clock = new FakeClock(now)
    const revocations = new RevokedSessions(server.db, clock, isShared ? onFailure : undefined)
    const secrets = new SessionSecrets({
      db: server.db,
      secret: 'of 32 characters at the very least',
      clock,
      onFailure,
      most,
    })
    opened.push(revocations, secrets)
    await revocations.endedAt([])
    const open = new OpenSessions(clock)
    const sessions = new MeshSessions({ server, web, revocations, open, secrets, clock, onFailure })
    return { clock, web, revocations, secrets, open, sessions, failures }
  }
}
