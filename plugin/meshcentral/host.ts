import type { Clock } from '../clock.ts'
import { isSameRoute } from '../config/domains/route-names.ts'
import type { AuthLogEntry, Host } from '../host/port.ts'
import type { GuardedSessions } from './guard.ts'
import {
  carry,
  failurePath,
  goOn,
  messageOf,
  SIGNED_OUT_HERE,
  sayOnceSignedOut,
  withLoginKey,
  withQuery,
} from './pages/login-page.ts'
import { meshAccounts } from './people/accounts.ts'
import { type MeshLoginTokens, meshLoginTokens } from './people/login-tokens.ts'
import { meshUserGroups } from './people/user-groups.ts'
import type { MeshRequest, MeshServer, MeshWeb } from './server.ts'
import { leaseInDatabase } from './sessions/lease.ts'
import type { OpenSessions } from './sessions/open-sessions.ts'
import type { RevokedSessions } from './sessions/revoked-sessions.ts'
import { sessionSecrets } from './sessions/session-secrets.ts'
import { maxAgeOf, meshSessions, ownSession } from './sessions/sessions.ts'
import type { TakenDomain } from './take-over.ts'

export interface MeshHostOptions {
  readonly server: MeshServer
  readonly web: MeshWeb
  readonly taken: ReadonlyMap<string, TakenDomain>
  readonly ended: RevokedSessions
  readonly open: OpenSessions
  readonly secret: string
  /** Names of the presets. */
  readonly presets: readonly string[]
  readonly clock: Clock
  /** Days after a login or renewal that login tokens work for; null: without limit. */
  readonly loginTokenDays: number | null
  /** Called when something went wrong that nobody waits for. */
  readonly onFailure: (error: unknown) => void
}

export interface MeshHost extends Host {
  readonly sessions: GuardedSessions
  readonly loginTokens: MeshLoginTokens
}

/** MeshCentral as the server that the plugin signs people in to. */
export function meshHost(options: MeshHostOptions): MeshHost {
  const { server, web, taken, ended, secret, clock, onFailure } = options
  const secrets = sessionSecrets({ db: server.db, secret, clock, onFailure })
  const maxAgeMs = maxAgeOf(web)
  const lease = ended.isShared ? leaseInDatabase(server.db, clock) : undefined
  const sessions = meshSessions({ ...options, secrets, lease })
  ended.onElsewhere((endings) => sessions.endedElsewhere(endings).catch(onFailure))
  const loginTokens = meshLoginTokens({
    db: server.db,
    clock,
    days: options.loginTokenDays,
    endDirectLogins: sessions.endDirect,
  })
  const isStrict = String(web.args.sessionsamesite).toLowerCase() === 'strict'
  const inMaintenance = () => {
    const { maintenancemode } = server.config.settings
    return maintenancemode !== undefined && maintenancemode !== null
  }

  return {
    accounts: meshAccounts(server, web, taken, clock),
    groups: meshUserGroups(server, web, options.presets, clock),
    sessions: {
      ...sessions,
      hasEnded: async ({ keys, startedAt, until = startedAt + maxAgeMs, from }) =>
        (from !== undefined && !sessions.acceptsIssuer(from)) ||
        Math.min(until, startedAt + maxAgeMs) <= clock.now() ||
        startedAt <= ((await ended.endedAt(keys)) ?? Number.NEGATIVE_INFINITY),
    },
    loginTokens,
    secret,
    authLog: (entry) => server.authLog('OIDC', authLogText(entry)),
    domainOf: (req) => {
      const request = req as MeshRequest
      const domain = taken.get(request.xdomain?.id ?? '')?.domain
      if (!domain || domain !== request.xdomain) return undefined
      // Sessions that began with a password end as they always did.
      return isSameRoute(request.path, `${domain.url}logout`) && !ownSession(request) ? undefined : domain.id
    },
    basePath: (domainKey) => taken.get(domainKey)?.domain.url ?? '/',
    // MeshCentral's own strategies take nothing else for true either.
    newAccountsAllowed: (domainKey) => taken.get(domainKey)?.domain.newaccounts === true,
    inMaintenance,
    clientAddress: (req) => (req as MeshRequest).clientIp,
    land: (req, res, path) => {
      const withKey = withLoginKey(path, req as MeshRequest)
      // In maintenance mode that is the way past the notice.
      goOn(res, inMaintenance() ? withQuery(withKey, 'loginscreen', '1') : withKey, isStrict)
    },
    loginPage: {
      showFailure: (req, res, domainKey, failure) => {
        const request = req as MeshRequest
        const domain = taken.get(domainKey)?.domain
        if (!domain) throw new Error('The domain is not one of ours.')
        if (failure.code === SIGNED_OUT_HERE) {
          sayOnceSignedOut(res, domain, request, isStrict)
          return
        }
        // Somebody who went back in the browser, or was sent here by another page, goes on with the session that there
        // is.
        if (ownSession(request)) {
          goOn(res, withLoginKey(domain.url, request), isStrict)
          return
        }
        const message = messageOf(failure)
        carry(res, 'failure', String(message))
        goOn(res, failurePath(domain, message, request), isStrict)
      },
    },
  }
}

/** One line of text: the log is a plain file. */
function authLogText({ level, event, message, domain, fields }: AuthLogEntry): string {
  const place = domain === '' ? '' : ` domain=${domain}`
  return `${level.toUpperCase()} ${event}${place}: ${message} ${JSON.stringify(fields)}`
}
