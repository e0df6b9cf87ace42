import { randomBytes } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import { isJsonObject } from '../../config/json/json-object.ts'
import { type CookieSignIn, cookieSessions, cookieSignIn } from '../../host/cookie-session.ts'
import type { IssuerRule, OpenSession, SessionFilter, Sessions, SignIn } from '../../host/port.ts'
import { endOfNow } from '../../host/revocation-store.ts'
import { keyOfHandle, keysOfFilter } from '../../host/revocations.ts'
import { NO_TOKENS } from '../../host/sign-in-record.ts'
import { printableText } from '../../log.ts'
import { saveRecord } from '../database.ts'
import { tell } from '../events.ts'
import { type MeshRequest, type MeshServer, type MeshUser, type MeshWeb, userKey } from '../server.ts'
import { keyOfDirectLogins, keyOfSealed } from './cookie-owner.ts'
import { keysOfOpen, type OpenSessions, type RevocationTimes, type SeenSession } from './open-sessions.ts'
import type { RevokedSessions } from './revoked-sessions.ts'
import type { SessionSecrets } from './session-secrets.ts'

export interface MeshSessionsOptions {
  readonly server: MeshServer
  readonly web: MeshWeb
  readonly ended: RevokedSessions
  readonly open: OpenSessions
  readonly secrets: SessionSecrets
  /** Undefined: there is one server. */
  readonly lease?: Sessions['lease'] | undefined
  readonly clock: Clock
  /** Called when a session that should have ended did not. */
  readonly onFailure: (error: unknown) => void
}

/** MeshCentral opens nothing that it sealed more than 4 hours ago. */
const SEALED_MS = 5 * 60 * 60_000
/** As MeshCentral itself keeps them. */
const DESTROYED_MS = 2 * 60 * 60_000
const MOST_AGE_MS = 14 * 24 * 60 * 60_000

/** How long a session counts after its login. Milliseconds. */
export function maxAgeOf({ args }: MeshWeb): number {
  return Math.max(MOST_AGE_MS, Number(args.sessiontime ?? 0) * 60_000)
}

/** MeshCentral's own name of a session. */
type Named = Pick<SeenSession, 'user' | 'x'>

export interface MeshSessions extends Sessions {
  /**
   * Whether a session still counts, as far as that is known at once. False: it has ended, or nobody knows yet.
   *
   * @param keys what ends it
   */
  counts(session: SeenSession, keys: readonly string[]): boolean
  /** Ends one session of whichever browser, and its open pages. */
  endOne(session: SeenSession): Promise<void>
  /** Whether sessions of an issuer count. */
  acceptsIssuer: IssuerRule
  /** Ends what MeshCentral itself began for a user, here and on other servers of the same database. */
  endDirect(user: string): Promise<void>
  /** Closes what another server of the same database has ended, and lets its tokens go. */
  endedElsewhere(endings: RevocationTimes): Promise<void>
}

/**
 * MeshCentral's sessions: a signed cookie, which its own code reads too. Beside what MeshCentral needs there it holds
 * our record of the login, so that the session can be ended for good, and by the IdP. The tokens are kept on the server
 * as long as it lasts: so the IdP can be asked about it, and its tokens be revoked. Only sessions that this process has
 * seen are told of.
 */
export function meshSessions(options: MeshSessionsOptions): MeshSessions {
  const { server, web, ended, open, secrets, lease, clock, onFailure } = options
  const maxAgeMs = maxAgeOf(web)
  const now = () => clock.now()
  const cookies = cookieSessions({ revocations: ended, maxAgeMs, clock })
  let acceptsIssuer: IssuerRule = () => true

  /**
   * What sessions leave once they have ended: their names at MeshCentral, their sockets and tokens. What was sealed for
   * one bears it; what was sealed for nobody knows whom goes with the last session of the user. All of them at once: an
   * IdP may end thousands.
   *
   * @param relayed of which nothing is known but their names
   * @returns what is still being written
   */
  function endPages(those: readonly SeenSession[], relayed: readonly Named[]): readonly Promise<void>[] {
    destroy([...those, ...relayed])
    open.end(those.map(({ signIn }) => keyOfHandle(signIn.handle)))
    for (const { signIn } of those) secrets.remove(signIn.handle)
    const gone = [...new Set(those.map(({ user }) => user))].filter((user) => !open.isIn(user))
    const written = gone.map((user) => ended.revoke([keyOfSealed(user)], endOfNow(ended, now()), now() + SEALED_MS))
    open.end(gone.map(keyOfSealed))
    return written
  }

  /**
   * Closes what has ended by now in the memory of this process. Not once that is written: a database that is slow or
   * fails would leave web sockets open that nobody closes any more. Settles when all of it has.
   */
  async function endWhileWritten(
    written: Promise<unknown>,
    found: readonly SeenSession[],
    relayed: readonly Named[] = [],
  ): Promise<void> {
    const all = [written, ...endPages(found, relayed)]
    await Promise.allSettled(all)
    await Promise.all(all)
  }

  /** Sessions by the keys of their handles. */
  function endNow(keys: readonly string[], until: number, found: readonly SeenSession[]): Promise<void> {
    return endWhileWritten(ended.revoke(keys, endOfNow(ended, now()), until), found)
  }

  function told(session: SeenSession): OpenSession {
    const { handle, ...signIn } = session.signIn
    return {
      id: keyOfHandle(handle),
      signIn,
      read: () => secrets.read(handle),
      write: (kept) => secrets.replace(handle, kept),
      end: () => endOne(session),
      endAllOfUser: () => endAll({ ...signIn, sid: null, account: signIn.userId }),
    }
  }

  function endOne(session: SeenSession): Promise<void> {
    const { handle, startedAt } = session.signIn
    return endNow([keyOfHandle(handle)], startedAt + maxAgeMs, [session])
  }

  async function endAll(those: SessionFilter): Promise<null> {
    const keys = keysOfFilter(those)
    const found = open.find(keys)
    const moved = found.filter((session) => open.keysOf(session).length > keysOfOpen(session.signIn).length)
    const at = endOfNow(ended, now())
    const written = Promise.all([ended.revoke(keys, at, at + maxAgeMs), ...moved.map(endOne)])
    open.end(keys)
    secrets.removeMatching(keys)
    await endWhileWritten(written, found, open.findRelayed(keys))
    return null
  }

  /**
   * Moves a session to another session at the IdP. Tabs that signed in at the same time may have begun one each there,
   * and the browser keeps the last. The end of either ends the session here.
   */
  function continueWith(request: MeshRequest, session: SeenSession, { sid, idToken, tokens }: SignIn): void {
    const moved = { ...session, signIn: { ...session.signIn, sid } }
    open.seen(session)
    open.seen(moved)
    const record: unknown = request.session?.oidcSignIn
    if (isJsonObject(record)) Object.assign(record, { sid })
    keepTokens({ ...moved.signIn, idToken, tokens }, session.signIn)
  }

  function keepTokens(signIn: SignIn, { handle, startedAt }: CookieSignIn): void {
    const oldest = secrets.keep(signIn, handle, startedAt + maxAgeMs)
    // What nobody can be asked about any more would outlive its end at the IdP.
    if (oldest) endNow([oldest], now() + maxAgeMs, open.find([oldest])).catch(onFailure)
  }

  function destroy(those: readonly Named[]): void {
    const { destroyedSessions } = web
    for (const [name, at] of Object.entries(destroyedSessions)) {
      if (at < now() - DESTROYED_MS) delete destroyedSessions[name]
    }
    for (const { user, x } of those) destroyedSessions[`${user}/${x}`] = now()
  }

  return {
    ...(lease ? { lease } : {}),

    async start(req, res, signIn, requestedAt = signIn.startedAt) {
      const request = req as MeshRequest
      const user = web.users[userKey(signIn.domainKey, signIn.userId)]
      if (!user) throw new Error('The account is gone.')
      const meanwhile = beganMeanwhile(request, signIn, requestedAt)
      if (meanwhile && (await cookies.current(req))) {
        if (meanwhile.signIn.sid !== signIn.sid) continueWith(request, meanwhile, signIn)
        return
      }
      user.login = user.access = Math.floor(now() / 1000)
      const before = ownSession(request)
      const written = [cookies.start(req, res, signIn), saveRecord(server.db, clock, user)]
      await endWhileWritten(Promise.all(written), before ? [before] : [])
      Object.assign(request.session ?? {}, {
        userid: user._id,
        // Binds the session to the address: MeshCentral compares it at each request.
        ip: request.clientIp,
        x: randomBytes(6).toString('base64'),
        begun: now(),
      })
      recordLogin(server, web, request, user)
      const begun = cookieSignIn(req)
      if (begun) keepTokens(signIn, begun)
    },

    acceptIssuers(accepts) {
      acceptsIssuer = accepts
      cookies.acceptIssuers(accepts)
    },

    acceptsIssuer: (session) => acceptsIssuer(session),

    counts({ signIn }, keys) {
      const { startedAt } = signIn
      const endedAt = ended.latest(keys) ?? Number.NEGATIVE_INFINITY
      return startedAt > endedAt && startedAt + maxAgeMs > now() && acceptsIssuer(signIn)
    },

    async current(req) {
      const session = ownSession(req as MeshRequest)
      return session ? cookies.current(req) : undefined
    },

    cookieBytes: (req) => cookies.cookieBytes(req),

    async end(req, res) {
      const request = req as MeshRequest
      const { userid, x } = request.session ?? {}
      const before = ownSession(request)
      const user = typeof userid === 'string' ? web.users[userid] : undefined
      const written = cookies.end(req, res)
      if (!before && typeof userid === 'string' && typeof x === 'string') destroy([{ user: userid, x }])
      await endWhileWritten(written, before ? [before] : [])
      if (user) recordLogout(server, web, request, user)
    },

    endMatching: (_req, those) => endAll(those),

    async kept(req) {
      const own = ownSession(req as MeshRequest)
      return own ? secrets.read(own.signIn.handle) : NO_TOKENS
    },

    async knows(_req, those) {
      const keys = keysOfFilter(those)
      return open.find(keys).length > 0 || secrets.hasMatching(keys)
    },

    matching: async (_req, those) => open.find(keysOfFilter(those)).map(told),

    *inUse(domainKey, forMs) {
      for (const session of open.inUse(domainKey, forMs)) yield told(session)
    },

    endOne,

    async endDirect(user) {
      const keys = [keyOfDirectLogins(user)]
      const written = ended.revoke(keys, endOfNow(ended, now()), now() + maxAgeMs)
      open.end(keys)
      await endWhileWritten(written, [], open.findRelayed(keys))
    },

    async endedElsewhere(endings) {
      const found = open.find(endings)
      open.end(endings)
      await Promise.all(endPages(found, open.findRelayed(endings)))
    },
  }
}

/**
 * Returns the session of a request if another tab of the same person began it while this login was under way. It then
 * serves both tabs: ending it would take it from a page that is just loading, and the answer to that page could
 * overwrite the cookie of a new one.
 *
 * The time of the request counts here, not that of the authentication. Where every tab asks for the password, the
 * person authenticates in the last tab long after the session of the first one began.
 */
function beganMeanwhile(req: MeshRequest, signIn: SignIn, requestedAt: number): SeenSession | undefined {
  const session = ownSession(req)
  if (!session || !(Number(req.session?.begun) >= requestedAt)) return undefined
  const { domainKey, userId, issuer, subject } = session.signIn
  const isSameUser = domainKey === signIn.domainKey && userId === signIn.userId
  return isSameUser && issuer === signIn.issuer && subject === signIn.subject ? session : undefined
}

/** The session of a request, if it is one of ours, is signed in, and MeshCentral takes it for the same user. */
export function ownSession(req: MeshRequest): SeenSession | undefined {
  const signIn = cookieSignIn(req)
  if (!signIn) return undefined
  const user = userKey(signIn.domainKey, signIn.userId)
  const { userid, x } = req.session ?? {}
  return userid === user && typeof x === 'string' ? { signIn, user, x } : undefined
}

function recordLogin(server: MeshServer, web: MeshWeb, req: MeshRequest, user: MeshUser): void {
  const { browserStr, osStr } = web.getUserAgentInfo(req)
  const realms = (user.groups ?? []).map((realm) => `server-users:${realm}`)
  tell(server, web, ['*', 'server-users', user._id, ...realms], {
    etype: 'user',
    userid: user._id,
    username: user.name,
    account: web.CloneSafeUser(user),
    action: 'login',
    msgid: 107,
    msgArgs: [req.clientIp, browserStr ?? '', osStr ?? ''],
    msg: 'Account login',
    domain: user.domain,
    ip: req.clientIp,
    userAgent: req.headers['user-agent'],
    twoFactorType: 'sso',
  })
}

function recordLogout(server: MeshServer, web: MeshWeb, req: MeshRequest, user: MeshUser): void {
  server.authLog('https', `User ${printableText(user.name)} logout from ${req.clientIp}`)
  tell(server, web, ['*'], {
    etype: 'user',
    userid: user._id,
    username: user.name,
    action: 'logout',
    msgid: 2,
    msg: 'Account logout',
    domain: user.domain,
    ip: req.clientIp,
  })
}
