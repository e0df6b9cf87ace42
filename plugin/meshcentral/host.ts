import type { Request, Response } from 'express'
import type { Clock } from '../clock.ts'
import { isSameRoute } from '../config/domains/route-names.ts'
import type { AuthLogEntry, Host, LoginFailure } from '../host/port.ts'
import type { RefusedLogins } from './moves/refused-logins.ts'
import {
  carry,
  failurePath,
  messageOf,
  SIGNED_OUT_HERE,
  sendOn,
  showSignedOutOnce,
  withLoginKey,
  withQuery,
} from './pages/login-page.ts'
import { MeshAccounts } from './people/accounts.ts'
import { MeshLoginTokens } from './people/login-tokens.ts'
import { MeshUserGroups } from './people/user-groups.ts'
import { type MeshServer, type MeshWeb, meshRequest } from './server.ts'
import { leaseInDatabase } from './sessions/lease.ts'
import type { OpenSessions } from './sessions/open-sessions.ts'
import type { RevokedSessions } from './sessions/revoked-sessions.ts'
import { SessionSecrets } from './sessions/session-secrets.ts'
import { MeshSessions, ownSession } from './sessions/sessions.ts'
import type { TakenDomain } from './start/take-over.ts'

export interface MeshHostOptions {
  readonly server: MeshServer
  readonly web: MeshWeb
  readonly takenDomains: ReadonlyMap<string, TakenDomain>
  readonly revocations: RevokedSessions
  readonly open: OpenSessions
  readonly refusedLogins: Pick<RefusedLogins, 'note'>
  readonly secret: string
  /** Names of the presets. */
  readonly presets: readonly string[]
  readonly clock: Clock
  /**
   * The number of days for which login tokens work after the user's last login or renewal. Null if there is no limit.
   */
  readonly loginTokenDays: number | null
  /** Called if an operation in the background failed, such as a database write that no request waits for. */
  readonly onFailure: (error: unknown) => void
}

export interface MeshHost extends Host {
  readonly sessions: MeshSessions
  readonly loginTokens: MeshLoginTokens
}

/** Implements the host port with MeshCentral's functions and records. */
export function meshHost(options: MeshHostOptions): MeshHost {
  const { server, web, takenDomains, secret, clock, loginTokenDays } = options
  const sessions = sessionsOf(options)
  const loginTokens = new MeshLoginTokens({
    db: server.db,
    clock,
    days: loginTokenDays,
    endDirectLogins: (user) => sessions.endDirectLogins(user),
  })
  const hasStrictCookies = String(web.args.sessionsamesite).toLowerCase() === 'strict'
  const inMaintenance = () => {
    const { maintenancemode } = server.config.settings
    return maintenancemode !== undefined && maintenancemode !== null
  }

  return {
    accounts: new MeshAccounts(server, web, takenDomains, clock),
    groups: new MeshUserGroups(server, web, options.presets, clock),
    sessions,
    loginTokens,
    secret,
    authLog: (entry) => server.authLog('OIDC', authLogText(entry)),
    domainOf: (req) => {
      const request = meshRequest(req)
      const domain = takenDomains.get(request.xdomain?.id ?? '')?.domain
      if (!domain || domain !== request.xdomain) return undefined
      // MeshCentral itself handles the logout of a session that began with a password.
      return isSameRoute(request.path, `${domain.url}logout`) && !ownSession(request) ? undefined : domain.id
    },
    basePath: (domainKey) => takenDomains.get(domainKey)?.domain.url ?? '/',
    // Only the value `true` allows new accounts, as in MeshCentral's own strategies.
    newAccountsAllowed: (domainKey) => takenDomains.get(domainKey)?.domain.newaccounts === true,
    inMaintenance,
    noteRefusal: (domainKey, profile, code) => options.refusedLogins.note(domainKey, profile, code),
    clientAddress: (req) => meshRequest(req).clientIp,
    land: (req, res, path) => {
      const withKey = withLoginKey(path, meshRequest(req))
      // In maintenance mode, MeshCentral shows a notice instead of its pages. With `loginscreen`, it shows its pages.
      sendOn(res, inMaintenance() ? withQuery(withKey, 'loginscreen', '1') : withKey, hasStrictCookies)
    },
    loginPage: {
      showFailure: (req, res, domainKey, failure) =>
        showFailure(takenDomains, hasStrictCookies, req, res, domainKey, failure),
    },
  }
}

function sessionsOf({ server, web, revocations, open, secret, clock, onFailure }: MeshHostOptions): MeshSessions {
  const secrets = new SessionSecrets({ db: server.db, secret, clock, onFailure })
  const lease = revocations.isShared ? leaseInDatabase(server.db, clock) : undefined
  const sessions = new MeshSessions({ server, web, revocations, open, secrets, lease, clock, onFailure })
  revocations.onRevokedElsewhere((times) => sessions.closeRevoked(times).catch(onFailure))
  return sessions
}

function showFailure(
  takenDomains: ReadonlyMap<string, TakenDomain>,
  hasStrictCookies: boolean,
  req: Request,
  res: Response,
  domainKey: string,
  failure: LoginFailure,
): void {
  const request = meshRequest(req)
  const domain = takenDomains.get(domainKey)?.domain
  if (!domain) throw new Error('The domain does not sign in through the plugin.')
  if (failure.code === SIGNED_OUT_HERE) {
    showSignedOutOnce(res, domain, request, hasStrictCookies)
    return
  }
  // A failed login does not end an existing session. The user may only have gone back in the browser, or another page
  // may have sent the browser here.
  if (ownSession(request)) {
    sendOn(res, withLoginKey(domain.url, request), hasStrictCookies)
    return
  }
  const message = messageOf(failure)
  carry(res, 'failure', String(message))
  sendOn(res, failurePath(domain, message, request), hasStrictCookies)
}

/** Formats an entry as one line, because the authentication log is a plain text file. */
function authLogText({ level, event, message, domain, fields }: AuthLogEntry): string {
  const place = domain === '' ? '' : ` domain=${domain}`
  return `${level.toUpperCase()} ${event}${place}: ${message} ${JSON.stringify(fields)}`
}
