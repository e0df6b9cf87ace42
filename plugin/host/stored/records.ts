import { type Clock, systemClock } from '../../clock.ts'
import type { Account, Accounts, Profile, UserGroups, UserId } from '../port.ts'
import { type TimeLimit, timeLimit } from '../time-limit.ts'

/** How many accounts a domain may have unless the server says otherwise. */
export const MOST_ACCOUNTS = 100_000

export interface StoredOptions {
  /** How long the store may take for one operation. Default 10,000. */
  readonly timeoutMs?: number
  /**
   * Default: that of this machine.
   *
   * @internal
   */
  readonly clock?: Clock
}

export interface StoredAccountsOptions extends StoredOptions {
  /** Accounts that a domain may have; one more is refused as `account_limit`. Default 100,000. */
  readonly most?: number
}

/** An account as it is kept, with what the last login said of the address. */
export interface StoredAccount extends Account {
  readonly emailVerified: Profile['emailVerified']
}

/** Accounts, ready-made. Changes of an account that is not there reject. */
export interface StoredAccounts extends Accounts {
  find(domainKey: string, id: UserId): Promise<StoredAccount | undefined>
}

/**
 * User groups, ready-made: those of the IdP that the plugin mirrors, and beside them those that administrators make by
 * hand. Two of one name, one of either kind, are two groups.
 */
export interface StoredUserGroups extends UserGroups {
  /**
   * Names of all groups that the user is in, mirrored or made by hand, in alphabetical order; of two with one name,
   * both.
   */
  allOf(domainKey: string, id: UserId): Promise<readonly string[]>
  /** Adds the user to the group that was made by hand under that name, making it when it is missing. */
  joinByHand(domainKey: string, id: UserId, name: string): Promise<void>
  leaveByHand(domainKey: string, id: UserId, name: string): Promise<void>
}

/** For one operation of the store. */
export function limitOf(options: StoredOptions): TimeLimit {
  const { timeoutMs = 10_000, clock = systemClock } = options
  return timeLimit(clock, timeoutMs)
}

export function unknownAccount(): Error {
  return new Error('There is no such account.')
}

export function accountExists(): Error {
  return new Error('An account with this id exists by now.')
}
