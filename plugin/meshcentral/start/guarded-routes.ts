import type { Clock } from '../../clock.ts'
import { printableText } from '../../log.ts'
import { type MountOptions, mountOidc, type Oidc, type readOptions } from '../../mount/mount-oidc.ts'
import { routePaths } from '../../routes/strategy.ts'
import { sessionGuard } from '../guard.ts'
import type { MeshHost } from '../host.ts'
import { answerPlainly, caught, EndedVisits, loginVisits } from '../routes.ts'
import type { Sealing } from '../self-test.ts'
import { isLocked, type MeshServer, type MeshUser, type MeshWeb } from '../server.ts'
import { followWork } from '../sessions/current-work.ts'
import type { OpenSessions } from '../sessions/open-sessions.ts'
import type { RevokedSessions } from '../sessions/revoked-sessions.ts'
import { sealedBySession } from '../sessions/sealed-cookies.ts'
import { tokenRefusals, watchTokenLogins } from '../sessions/token-logins.ts'

export interface GuardParts {
  readonly server: MeshServer
  readonly web: MeshWeb
  /** MeshCentral's own functions for sealed cookies. */
  readonly sealing: Sealing
  readonly revocations: RevokedSessions
  readonly open: OpenSessions
  /** Ids of the domains with the plugin's single sign-on. */
  readonly domains: ReadonlySet<string>
  readonly host: MeshHost
  readonly clock: Clock
  readonly report: (error: unknown) => void
}

/**
 * Installs {@link sessionGuard} before all routes, also on the agents' port, so that tunnels with sealed cookies end
 * with their session.
 */
export function installGuard(parts: GuardParts): { readonly sealed: Sealing; readonly visits: EndedVisits } {
  const { server, web, sealing, revocations, open, domains, host, clock, report } = parts
  const { sessions, loginTokens } = host
  const work = followWork(server.db)
  const sealed = sealedBySession({
    server: sealing,
    revocations,
    open,
    work,
    domains,
    now: clock.now,
    acceptsIssuer: (session) => sessions.acceptsIssuer(session),
  })
  const visits = new EndedVisits()
  const guard = sessionGuard({
    sessions,
    open,
    domains,
    isLocked: (user) => Object.hasOwn(web.users, user) && isLocked(web.users[user] as MeshUser),
    onLocked: (user) =>
      server.authLog(
        'OIDC',
        `WARN locked-user-signed-out: An administrator locked ${printableText(user)}, who was signed in. Unlock the account to let the user in.`,
      ),
    onUncertain: (req) => visits.note(req),
    onFailure: report,
    work,
    now: clock.now,
  })
  watchTokenLogins({
    web,
    tokens: loginTokens,
    work,
    open,
    domains,
    clock,
    onRefused: tokenRefusals(server, clock),
    onFailure: report,
  })
  const caughtGuard = caught(guard, report)
  web.app.use(caughtGuard)
  web.agentapp?.use(caughtGuard)
  return { sealed, visits }
}

export interface RouteParts {
  readonly server: MeshServer
  readonly web: MeshWeb
  readonly host: MeshHost
  readonly options: MountOptions
  readonly readings: ReturnType<typeof readOptions>
  /** Names of the presets. */
  readonly presets: readonly string[]
  readonly visits: EndedVisits
  /** Time between two checks of a session in use at the IdP, in milliseconds. 0 means no checks. */
  readonly sessionCheckMs: number
  readonly report: (error: unknown) => void
}

/**
 * Mounts the plugin's routes. Before them and before MeshCentral's login page, mounts the handlers that prepare their
 * requests.
 */
export function mountRoutes(parts: RouteParts): Oidc {
  const { server, web, host, options, readings, presets, visits, sessionCheckMs, report } = parts
  const paths = new Map(
    readings.domains.map(({ key: id, settings }) => [
      id,
      routePaths(host.basePath?.(id) ?? '/', settings?.client.redirect_uri, presets),
    ]),
  )
  const handler = loginVisits({ server, web, paths, hasEnded: (req) => visits.hasEnded(req) })
  web.app.use(caught(handler, report))
  const { urlencoded } = web.bodyParser
  const oidc = mountOidc(web.app, options, { urlencoded, sessionCheckMs }, readings)
  web.app.use(answerPlainly(paths, report))
  return oidc
}
