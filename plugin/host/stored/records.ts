import { type Clock, systemClock } from '../../clock.ts'
import type { Account, Accounts, Profile, UserGroups, UserId } from '../port.ts'
import { type TimeLimit, timeLimit } from '../time-limit.ts'

/** Default limit of the number of accounts in a domain. */
export const MOST_ACCOUNTS = 100_000

export interface StoredOptions {
  /** Time limit of one operation of the store, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number
  /**
   * The clock. Default: the machine's clock.
   *
   * @internal
   */
  readonly clock?: Clock
}

export interface StoredAccountsOptions extends StoredOptions {
  /**
   * Limit of accounts in a domain. Beyond it, logins of users without an account are refused as `account_limit`.
   * Default 100,000.
   */
  readonly most?: number
}

/** An account in the database. */
export interface StoredAccount extends Account {
  /** The value of `Profile.emailVerified` at the last login. */
  readonly emailVerified: Profile['emailVerified']
}

/**
 * A ready-made implementation of {@link Accounts}. A call that changes an account rejects if the account is missing.
 */
export interface StoredAccounts extends Accounts {
  find(domainKey: string, id: UserId): Promise<StoredAccount | undefined>
}

/**
 * A ready-made {@link UserGroups}, with mirrored groups and those of administrators. Two of the same name are two
 * groups.
 */
export interface StoredUserGroups extends UserGroups {
  /**
   * Returns the user's groups in alphabetical order. A mirrored and an administrator's group may have the same name.
   */
  allOf(domainKey: string, id: UserId): Promise<readonly string[]>
  /** Adds the user to a group that administrators manage by hand. Creates the group if it is missing. */
  joinByHand(domainKey: string, id: UserId, name: string): Promise<void>
  leaveByHand(domainKey: string, id: UserId, name: string): Promise<void>
}

/** Returns the time limit of one operation of the store. */
export function limitOf(options: StoredOptions): TimeLimit {
  const { timeoutMs = 10_000, clock = systemClock } = options
  return timeLimit(clock, timeoutMs)
}

export function unknownAccount(): Error {
  return new Error('The account does not exist.')
}

export function accountExists(): Error {
  return new Error('An account with this id already exists.')
}
