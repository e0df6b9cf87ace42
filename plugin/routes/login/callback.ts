import type { Request, Response } from 'express'
import type { DomainSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import { clientAddressOf } from '../../host/auth-log.ts'
import type { Host, Profile, UserId } from '../../host/port.ts'
import {
  anotherAccountIsIn,
  couldAnotherAccountMend,
  isAnotherAccountWanted,
  wantAnotherAccount,
} from '../../login/another-account.ts'
import type { Memberships } from '../../login/groups/memberships.ts'
import { reportedGroups } from '../../login/groups/reported-groups.ts'
import { accountUnderSubject, otherAccountWarning, withOtherAccount } from '../../login/other-account.ts'
import { profileOf } from '../../login/profile.ts'
import { type SignInResult, signIn } from '../../login/sign-in.ts'
import { digestOf } from '../../login/transaction/login-cookie.ts'
import { TRANSACTION_MS, type Transaction } from '../../login/transaction/transaction.ts'
import type { Evidence } from '../../presets/preset.ts'
import { mayComeInFragment } from '../../provider/authorization/response-mode.ts'
import { lockOutRefusedUser } from '../../sessions/refused-user.ts'
import { answerOf, isAnswer, isPrefetch } from '../answer.ts'
import { roomForCookies } from '../cookie-room.ts'
import { cookieRules } from '../cookie-rules.ts'
import { sendOn } from '../send-on.ts'
import type { RouteDeps, Strategy, WorkingStrategy } from '../strategy.ts'
import { endInFailure } from './failure.ts'
import { sendFragmentPage } from './fragment-page.ts'

/**
 * Whether a request to the redirect path is for {@link callback}: it brings an answer, or may have one in its fragment,
 * which only a page of ours can read.
 */
export function isForCallback({ domainKey, working }: Strategy, { transactions }: RouteDeps, req: Request): boolean {
  if (isAnswer(answerOf(req))) return true
  if (req.method !== 'GET' || !working || !mayComeInFragment(working.settings.client)) return false
  return transactions.isUnderWay(domainKey, cookieRules(working.settings), req.headers.cookie)
}

/** The answer of the IdP, by GET or as a posted form: finishes the login that it belongs to. */
export async function callback(strategy: Strategy, deps: RouteDeps, req: Request, res: Response): Promise<void> {
  const { host } = deps
  const { domainKey, paths, working } = strategy
  if (isPrefetch(req)) {
    res.status(503).end()
    return
  }
  const answer = answerOf(req)
  if (!isAnswer(answer)) return sendFragmentPage(res, paths.login)
  let ours = false
  try {
    if (!working) throw new LoginError('not_configured')
    const state = await working.client.stateIn(answer)
    if (state === undefined) throw new LoginError('transaction_missing')
    const transaction = await takeTransaction(state, working.settings, deps, req, res)
    if (!transaction) {
      const before = await landedBefore(state, working.settings, deps, req)
      if (before === undefined) throw new LoginError('transaction_missing')
      land(host, req, res, before)
      return
    }
    ours = true
    if (transaction.domainKey !== domainKey) throw new LoginError('transaction_foreign')
    const { profile, result, startedAt } = await finish(answer, transaction, working, deps, req, res)
    logSignIn(host, req, domainKey, profile, result)
    const path = transaction.returnPath ?? paths.base
    const session = { domainKey, userId: profile.id, startedAt }
    const rules = cookieRules(working.settings)
    if (isAnotherAccountWanted(rules, req.headers.cookie)) res.append('Set-Cookie', anotherAccountIsIn(rules))
    const landing = deps.landings.remember(state, session, path, rules)
    // A long path of a person with a long name: should the answer come again, it leads to the domain's root.
    if (landing.length <= roomForCookies(res, host.sessions, path)) res.append('Set-Cookie', landing)
    land(host, req, res, path)
  } catch (error) {
    // Somebody who was refused now is not left signed in by an earlier login. An answer that this browser never asked
    // for ends nothing: any page could send one.
    if (ours) await host.sessions.end(req, res).catch(() => undefined)
    if (working && error instanceof LoginError && couldAnotherAccountMend(error.code)) {
      res.append('Set-Cookie', wantAnotherAccount(cookieRules(working.settings)))
    }
    await endInFailure(host, req, res, domainKey, error)
  }
}

/**
 * A form of an answer that cannot be read: too large, or with too many fields. Ends at the login page like any failure.
 */
export async function refuseAnswer(
  { domainKey }: Strategy,
  { host }: RouteDeps,
  req: Request,
  res: Response,
  cause: unknown,
) {
  const reason = 'the posted form has over 256 KB or 50 fields, or is none'
  await endInFailure(host, req, res, domainKey, new LoginError('answer_invalid', { cause, details: { reason } }))
}

async function takeTransaction(
  state: string,
  settings: DomainSettings,
  { host, transactions }: RouteDeps,
  req: Request,
  res: Response,
): Promise<Transaction | undefined> {
  const { transaction, setCookies } = transactions.take(state, cookieRules(settings), req.headers.cookie)
  if (setCookies.length > 0) res.append('Set-Cookie', [...setCookies])
  const until = (transaction?.startedAt ?? 0) + TRANSACTION_MS
  // Another process may have taken the same answer: a copy of the cookie works at all of them.
  const first = transaction && host.sessions.revocations?.once?.(`login ${digestOf(state)}`, until)
  const isFirst = await first?.catch((cause: unknown): never => {
    throw new LoginError('host_failed', { cause })
  })
  return isFirst === false ? undefined : transaction
}

/** An answer that comes again, by a reload or the way back, in the browser that its login signed in. */
async function landedBefore(
  state: string,
  settings: DomainSettings,
  { host, landings }: RouteDeps,
  req: Request,
): Promise<string | undefined> {
  const session = await host.sessions.current(req).catch(() => undefined)
  return landings.find(state, session, cookieRules(settings), req.headers.cookie)
}

function land(host: Host, req: Request, res: Response, path: string): void {
  if (host.land) host.land(req, res, path)
  else sendOn(res, path)
}

async function finish(
  answer: URLSearchParams,
  transaction: Transaction,
  working: WorkingStrategy,
  { host, toldGroups, warnOfUserInfo }: RouteDeps,
  req: Request,
  res: Response,
): Promise<{ profile: Profile; result: SignInResult; startedAt: number }> {
  const { settings, client, preset } = working
  const { issuer, subject, sid, authenticatedAt, idToken, tokens, userInfoFailure, ...told } = await client.redeem(
    answer,
    transaction,
  )
  if (userInfoFailure) warnOfUserInfo(settings.key, userInfoFailure)
  const evidence = { ...told, isPartial: userInfoFailure !== null }
  // What ended before the person authenticated is not this session, though its login had begun by then.
  const startedAt = Math.max(transaction.startedAt, authenticatedAt ?? 0)
  const profile = { ...profileOf(preset.claims(evidence.claims), settings.custom.claims), issuer }
  const memberships = settings.groups ? await learnMemberships(evidence, working, host, profile) : []
  if (memberships.length > 0 && memberships !== 'unknown') toldGroups.add(settings.key)
  const reported = settings.groups
    ? reportedGroups(memberships, preset.groupsClaim(settings), evidence, settings.groups, toldGroups.has(settings.key))
    : {}
  const otherAccount = await findOtherAccount(host, settings.key, profile.id, subject)
  const result = await signIn(profile, memberships, settings, host, reported).catch(async (error: unknown) => {
    if (error instanceof LoginError && error.code === 'not_in_required_group') {
      const { id: userId } = profile
      const all = { domainKey: settings.key, issuer, subject, sid: null, account: userId }
      await lockOutRefusedUser(host, { settings, userId, req, endSessions: () => host.sessions.endMatching(req, all) })
    }
    throw withOtherAccount(error, otherAccount)
  })
  try {
    const userId = profile.id
    const session = { domainKey: settings.key, userId, issuer, subject, sid, startedAt, idToken, tokens }
    await host.sessions.start(req, res, session, transaction.startedAt)
    // The IdP may have ended the session while the login was under way.
    const begun = await host.sessions.current(req)
    if (!begun) throw new LoginError('session_ended', { details: { user: userId } })
    // The host may have kept the session that another tab began meanwhile.
    return { profile, result, startedAt: begun.startedAt }
  } catch (error) {
    if (error instanceof LoginError) throw error
    throw new LoginError('host_failed', { cause: error, details: { user: profile.id } })
  }
}

/** Warns of an account that the user had under another id. A host that cannot tell fails the login itself. */
async function findOtherAccount(
  { accounts, authLog }: Host,
  domainKey: string,
  userId: UserId,
  subject: string,
): Promise<UserId | undefined> {
  const other = await accountUnderSubject(userId, subject, domainKey, accounts).catch(() => undefined)
  if (other !== undefined) authLog(otherAccountWarning(domainKey, userId, other))
  return other
}

async function learnMemberships(
  evidence: Evidence,
  { settings, preset }: WorkingStrategy,
  host: Host,
  profile: Profile,
): Promise<Memberships> {
  let reason = 'the groups claim has an unusable type'
  const memberships = await preset.memberships(evidence, settings).catch((error: unknown): 'unknown' => {
    reason = error instanceof Error ? error.message : String(error)
    return 'unknown'
  })
  if (memberships === 'unknown') {
    host.authLog({
      level: 'warn',
      event: 'memberships-unknown',
      message: 'The group memberships of a user could not be learned: groups and rights stay as they are.',
      domain: settings.key,
      fields: { user: profile.id, reason },
    })
  }
  return memberships
}

function logSignIn(host: Host, req: Request, domain: string, profile: Profile, result: SignInResult): void {
  if (result.tooMany !== undefined) {
    host.authLog({
      level: 'warn',
      event: 'groups-not-mirrored',
      message:
        'A user is in more groups than are mirrored: none was joined. Name those that are needed in groups.sync.filter.',
      domain,
      fields: { user: profile.id, groups: result.tooMany },
    })
  }
  host.authLog({
    level: 'info',
    event: 'login',
    message: result.created ? 'Signed in for the first time; the account was created.' : 'Signed in.',
    domain,
    fields: {
      user: profile.id,
      ...clientAddressOf(host, req),
      ...(result.siteAdmin === 'keep' ? {} : { siteAdmin: result.siteAdmin }),
      ...(result.rights === undefined ? {} : { rights: result.rights }),
      ...(result.joined.length > 0 ? { joined: result.joined } : {}),
      ...(result.left.length > 0 ? { left: result.left } : {}),
    },
  })
}
