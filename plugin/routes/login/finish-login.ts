import type { Request, Response } from 'express'
import { LoginError } from '../../errors.ts'
import type { Host, Profile, SignIn, UserId } from '../../host/port.ts'
import { reportedGroups } from '../../login/groups/reported-groups.ts'
import { accountUnderSubject, otherAccountWarning, withOtherAccount } from '../../login/other-account.ts'
import { profileOf } from '../../login/profile.ts'
import { type SignInIdentity, type SignInResult, signIn } from '../../login/sign-in.ts'
import type { Transaction } from '../../login/transaction/transaction.ts'
import type { Redeemed } from '../../provider/answers/redeem.ts'
import type { OpenedAnswer } from '../../provider/answers/signed-answer.ts'
import { lockOutRefusedUser } from '../../sessions/refused-user.ts'
import type { RouteDeps, WorkingStrategy } from '../strategy.ts'
import { readMemberships } from './read-memberships.ts'

/** The result of a login that started a session. */
export interface FinishedLogin {
  readonly profile: Profile
  readonly result: SignInResult
  /** The `startedAt` of the session, in milliseconds since 1970. */
  readonly startedAt: number
}

/**
 * Redeems the answer of the IdP, signs the user in, and starts the session.
 *
 * @throws LoginError
 */
export async function finishLogin(
  answer: OpenedAnswer,
  transaction: Transaction,
  working: WorkingStrategy,
  deps: RouteDeps,
  req: Request,
  res: Response,
): Promise<FinishedLogin> {
  const { settings, client, preset } = working
  const redeemed = await client.redeem(answer, transaction)
  const { issuer, subject, sid, authenticatedAt, idToken, tokens, userInfoFailure } = redeemed
  if (userInfoFailure) deps.warnOfUserInfo(settings.key, userInfoFailure)
  const claims = preset.claims(redeemed.claims)
  const profile = { ...profileOf(claims, settings.custom.claims, userInfoFailure !== null), issuer }
  const result = await admit(redeemed, profile, working, deps, req)
  // Let the session start at the user's authentication, if that is later than the start of the login. A logout at the
  // IdP between the two must not end the session.
  const startedAt = Math.max(transaction.startedAt, authenticatedAt ?? 0)
  const session = { domainKey: settings.key, userId: profile.id, issuer, subject, sid, startedAt, idToken, tokens }
  return { profile, result, startedAt: await startSession(deps.host, session, transaction.startedAt, req, res) }
}

/** Signs the user in by {@link signIn}. Locks a user out who is in none of the groups in `groups.required`. */
async function admit(
  { claims, accessToken, grantedScopes, userInfoFailure, issuer, subject }: Redeemed,
  profile: SignInIdentity,
  working: WorkingStrategy,
  { host, domainsWithGroups }: RouteDeps,
  req: Request,
): Promise<SignInResult> {
  const { settings, preset } = working
  const { key: domainKey, groups: rules } = settings
  const evidence = { claims, accessToken, grantedScopes, isPartial: userInfoFailure !== null }
  const memberships = rules ? await readMemberships(evidence, working, host, profile.id) : []
  if (memberships.length > 0 && memberships !== 'unknown') domainsWithGroups.add(domainKey)
  const reported = rules
    ? reportedGroups(memberships, preset.groupsClaim(settings), evidence, rules, domainsWithGroups.has(domainKey))
    : {}
  const otherAccount = await findOtherAccount(host, domainKey, profile.id, subject)
  return signIn(profile, memberships, settings, host, reported).catch(async (error: unknown) => {
    if (error instanceof LoginError && error.code === 'not_in_required_group') {
      const userId = profile.id
      const all = { domainKey, issuer, subject, sid: null, account: userId }
      await lockOutRefusedUser(host, { settings, userId, req, endSessions: () => host.sessions.endMatching(req, all) })
    }
    if (error instanceof LoginError) host.noteRefusal?.(domainKey, profile, error.code)
    throw withOtherAccount(error, otherAccount)
  })
}

/**
 * Starts the session.
 *
 * @returns the `startedAt` of the session
 */
async function startSession(
  { sessions }: Host,
  session: SignIn,
  requestedAt: number,
  req: Request,
  res: Response,
): Promise<number> {
  const details = { user: session.userId }
  try {
    await sessions.start(req, res, session, requestedAt)
    // Check the new session, because the IdP may have ended it while the login was in progress.
    const begun = await sessions.current(req)
    if (!begun) throw new LoginError('session_ended', { details })
    // Return the start time of the session that the browser has now. The host may have kept a session that another tab
    // started.
    return begun.startedAt
  } catch (error) {
    if (error instanceof LoginError) throw error
    throw new LoginError('host_failed', { cause: error, details })
  }
}

/**
 * Logs a warning if the user has an account under another id. Ignores errors of the host, which a later step reports.
 */
async function findOtherAccount(
  { accounts, authLog }: Host,
  domainKey: string,
  userId: UserId,
  subject: string,
): Promise<UserId | undefined> {
  const otherAccount = await accountUnderSubject(userId, subject, domainKey, accounts).catch(() => undefined)
  if (otherAccount !== undefined) authLog(otherAccountWarning(domainKey, userId, otherAccount))
  return otherAccount
}
