import type { Response } from 'express'
import { membersOf } from '../../config/json/json-object.ts'
import type { LiveChecks } from '../../doctor/live-checks.ts'
import { POLICY } from '../../doctor/page-look.ts'
import { statusPage } from '../../doctor/status-page.ts'
import { createSeal, type Seal } from '../../host/seal.ts'
import type { DomainStatus } from '../../mount/status/domain-status.ts'
import type { AccountMoves, MoveRequest } from '../moves/account-moves.ts'
import { hasHoldings, type Suggestion } from '../moves/holdings.ts'
import type { RefusedLogins } from '../moves/refused-logins.ts'
import { type MeshRequest, type MeshServer, type MeshUser, SITE_ADMIN, userKey } from '../server.ts'
import { MOVE_QUERY, type MovePage, movePage, type WaitingUser } from './move-page.ts'

/** The handlers of `<url>pluginadmin.ashx?pin=meshcompanion`. MeshCentral calls them for any signed-in user. */
export interface AdminPage {
  handleAdminReq(req: MeshRequest, res: Response, user: MeshUser): void
  handleAdminPostReq(req: MeshRequest, res: Response, user: MeshUser): void
}

export interface AdminPageOptions {
  readonly server: Pick<MeshServer, 'config'>
  readonly secret: string
  readonly status: () => readonly DomainStatus[]
  /** Returns notes about the server's settings that an administrator of the domain should read. */
  readonly notes: (domainKey: string) => readonly string[]
  readonly checks: LiveChecks
  readonly moves: Pick<AccountMoves, 'find' | 'suggestions' | 'move'>
  readonly refusedLogins: Pick<RefusedLogins, 'of' | 'since'>
  /** Called if an account could not be moved, or if a request for one of the pages fails unexpectedly. */
  readonly onFailure: (error: unknown) => void
  /** Returns the current time in milliseconds since 1970. */
  readonly now: () => number
}

const ADDRESS = 'pluginadmin.ashx?pin=meshcompanion'
/** How long a page's buttons work after the page was loaded, in milliseconds. */
const TOKEN_MS = 12 * 60 * 60_000

/**
 * Serves the status page and the page that moves accounts. MeshCentral lets every user in, so each handler checks for a
 * site admin of the domain.
 */
class MeshAdminPage implements AdminPage {
  readonly #options: AdminPageOptions
  readonly #tokens: Seal

  constructor(options: AdminPageOptions) {
    this.#options = options
    this.#tokens = createSeal(options.secret, 'status page')
  }

  handleAdminReq(req: MeshRequest, res: Response, user: MeshUser): void {
    const { server, status, notes, checks, now } = this.#options
    if (!isAdminHere(req, user)) {
      sendElsewhere(server, req, res, user)
      return
    }
    const domainKey = user.domain
    const token = this.#tokens.seal(String(now()), placeOf(req, user))
    if (req.query.page === 'move') {
      send(res, movePage(this.#moveView(req, domainKey, token)))
      return
    }
    const page = statusPage({
      status: status().find((domain) => domain.domainKey === domainKey),
      notes: notes(domainKey),
      check: checks.of(domainKey),
      token,
      look: lookOf(req),
      moveHref: MOVE_QUERY,
      now: now(),
    })
    send(res, page)
  }

  handleAdminPostReq(req: MeshRequest, res: Response, user: MeshUser): void {
    if (!isAdminHere(req, user)) {
      refuse(res, 'This page is for full site administrators of its domain.')
      return
    }
    if (!this.#isGenuine(req, user)) {
      refuse(res, 'This page is too old, or the request came from another page. Reload this page.')
      return
    }
    const { action, from, to, lock } = membersOf(req.body)
    if (action === 'move') {
      this.#startMove(res, user.domain, { from: String(from), to: String(to), lock: lock === 'on', by: user.name })
      return
    }
    this.#options.checks.start(user.domain)
    res.redirect(303, `?${ADDRESS.split('?')[1]}`)
  }

  /** Whether a posted form came from one of the administrator's pages, loaded in the same session. */
  #isGenuine(req: MeshRequest, user: MeshUser): boolean {
    // Old browsers do not send `Sec-Fetch-Site`. Their requests are checked by the token alone.
    const site = req.headers['sec-fetch-site']
    if (site !== undefined && site !== 'same-origin') return false
    const { token } = membersOf(req.body)
    const madeAt = typeof token === 'string' ? this.#tokens.open(token, placeOf(req, user)) : null
    return madeAt !== null && Math.abs(this.#options.now() - Number(madeAt)) <= TOKEN_MS
  }

  #moveView(req: MeshRequest, domainKey: string, token: string): MovePage {
    const { moves, refusedLogins } = this.#options
    const { from, to, outcome } = req.query
    const typed = typeof from === 'string' && typeof to === 'string' ? { from: from.trim(), to: to.trim() } : undefined
    const waiting = this.#waitingUsers(domainKey)
    const isReady = ({ from, to }: WaitingUser) => from !== to && moves.find(domainKey, to) !== undefined
    return {
      typed,
      from: typed && moves.find(domainKey, typed.from),
      to: typed && moves.find(domainKey, typed.to),
      suggestions: withoutDuplicates<Suggestion>([...moves.suggestions(domainKey), ...waiting.filter(isReady)]),
      waiting: waiting.filter((user) => !isReady(user)),
      waitingSince: refusedLogins.since,
      token,
      look: lookOf(req),
      outcome: outcome === 'moved' || outcome === 'failed' ? outcome : null,
    }
  }

  /**
   * Returns users of refused logins or login warnings who probably have an old account that still has something to
   * move.
   */
  #waitingUsers(domainKey: string): readonly WaitingUser[] {
    const { status, moves, refusedLogins } = this.#options
    const { loginWarnings = [] } = status().find((domain) => domain.domainKey === domainKey) ?? {}
    const underOtherId = loginWarnings.flatMap(({ account, otherAccount, time }): readonly WaitingUser[] => {
      if (account === null || otherAccount === null) return []
      const [from, to] = [userKey(domainKey, otherAccount), userKey(domainKey, account)]
      return [{ from, to, time, reason: 'account-under-other-id' }]
    })
    const refused = refusedLogins.of(domainKey).map(({ code, ...login }): WaitingUser => ({ ...login, reason: code }))
    return withoutDuplicates([...underOtherId, ...refused]).filter(({ from, to }) => {
      const old = moves.find(domainKey, from)
      return old !== undefined && (from === to || hasHoldings(old))
    })
  }

  #startMove(res: Response, domainKey: string, request: MoveRequest): void {
    const { moves, onFailure } = this.#options
    const prefix = `user/${domainKey}/`
    if (!request.from.startsWith(prefix) || !request.to.startsWith(prefix)) {
      refuse(res, 'Both accounts of a move must belong to the domain of this page.')
      return
    }
    const show = (outcome: NonNullable<MovePage['outcome']>) => res.redirect(303, `${MOVE_QUERY}&outcome=${outcome}`)
    moves.move(request).then(
      () => show('moved'),
      (error: unknown) => {
        onFailure(error)
        show('failed')
      },
    )
  }
}

/**
 * Returns the handlers of the pages. The handlers never throw, because MeshCentral would answer an error with a stack
 * trace.
 */
export function meshAdminPage(options: AdminPageOptions): AdminPage {
  const page = new MeshAdminPage(options)
  const caught =
    (handle: AdminPage['handleAdminReq']): AdminPage['handleAdminReq'] =>
    (req, res, user) => {
      try {
        handle(req, res, user)
      } catch (error) {
        options.onFailure(error)
        if (!res.headersSent) res.status(500).type('text/plain').send('Something went wrong. Please try again.')
      }
    }
  return {
    handleAdminReq: caught((req, res, user) => page.handleAdminReq(req, res, user)),
    handleAdminPostReq: caught((req, res, user) => page.handleAdminPostReq(req, res, user)),
  }
}

/** Removes repeated suggestions. Keeps the first suggestion for each two accounts. */
function withoutDuplicates<Pair extends Suggestion>(pairs: readonly Pair[]): readonly Pair[] {
  const keyOf = ({ from, to }: Pair) => JSON.stringify([from, to])
  return [...new Map(pairs.toReversed().map((pair) => [keyOf(pair), pair])).values()].reverse()
}

/** Returns the user and the session that a page's token is bound to, so that no other session can use the token. */
function placeOf(req: MeshRequest, user: MeshUser): string {
  return JSON.stringify([user._id, req.session?.x])
}

function isAdminHere({ xdomain }: MeshRequest, { siteadmin, domain }: MeshUser): boolean {
  return siteadmin === SITE_ADMIN && xdomain?.id === domain
}

/** Redirects a site admin to the page of the admin's own domain. MeshCentral's list links to the default domain's. */
function sendElsewhere({ config }: Pick<MeshServer, 'config'>, req: MeshRequest, res: Response, user: MeshUser): void {
  const domain = Object.hasOwn(config.domains, user.domain) ? config.domains[user.domain] : undefined
  const path = domain && (domain.dns === undefined || domain.dns === null) ? domain.url + ADDRESS : undefined
  if (user.siteadmin === SITE_ADMIN && path !== undefined && !path.startsWith(`${req.path}?`)) res.redirect(302, path)
  else refuse(res, 'This page is for full site administrators of its domain.')
}

function send(res: Response, page: string): void {
  res
    .status(200)
    .set({ 'Content-Security-Policy': POLICY, 'X-Frame-Options': 'SAMEORIGIN', 'Cache-Control': 'no-store' })
    .type('html')
    .send(page)
}

function refuse(res: Response, text: string): void {
  res.status(403).set('Cache-Control', 'no-store').type('text/plain').send(text)
}

function lookOf({ xdomain }: MeshRequest): 'night' | 'day' | null {
  if (xdomain?.nightmode === 1) return 'night'
  return xdomain?.nightmode === 2 ? 'day' : null
}
