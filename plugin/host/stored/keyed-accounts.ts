import { LoginError } from '../../errors.ts'
import type { UserId } from '../port.ts'
import { damaged, type KeyedStore, keyedRecords } from './keyed-store.ts'
import {
  accountExists,
  limitOf,
  MOST_ACCOUNTS,
  type StoredAccount,
  type StoredAccounts,
  type StoredAccountsOptions,
  unknownAccount,
} from './records.ts'

/**
 * The accounts of a server over any store of texts by key. Two keys are written for a new account, its own and the
 * number of accounts of its domain; a login that brings nothing new writes none.
 */
export function keyedAccounts(store: KeyedStore, options: StoredAccountsOptions = {}): StoredAccounts {
  const { most = MOST_ACCOUNTS } = options
  const records = keyedRecords(store, limitOf(options))
  const changeKnown = (domainKey: string, id: UserId, changes: Partial<StoredAccount>) =>
    records.change('account', [domainKey, id], (record) => {
      const account = readAccount(record, id)
      if (!account) throw unknownAccount()
      return written({ ...account, ...changes })
    })

  return {
    isShared: false,
    find: async (domainKey, id) => readAccount(await records.read('account', [domainKey, id]), id),
    create: (domainKey, { id, name, email, emailVerified, issuer }) =>
      records.change('account', [domainKey, id], async (record) => {
        if (record !== undefined) throw accountExists()
        // Counted first. What is counted and then cannot be written takes a place; the other way round, the limit would
        // not hold.
        await records.change('accounts', [domainKey], (count = 0) => {
          if (typeof count !== 'number') throw damaged('accounts')
          if (count >= most) throw new LoginError('account_limit', { details: { user: id } })
          return count + 1
        })
        return written({ name, email, emailVerified, siteAdmin: false, ...rememberedIssuer(issuer) })
      }),
    update: (domainKey, { id, name, email, emailVerified, issuer }) =>
      changeKnown(domainKey, id, { name, email, emailVerified, ...rememberedIssuer(issuer) }),
    setSiteAdmin: (domainKey, id, siteAdmin) => changeKnown(domainKey, id, { siteAdmin }),
  }
}

/** In one order of members, so that what did not change is the same text. The key says whose it is. */
function written({ name, email, emailVerified, siteAdmin, issuer }: Omit<StoredAccount, 'id'>): object {
  return { name, email, emailVerified, siteAdmin, ...rememberedIssuer(issuer) }
}

/** Older versions wrote none. */
function rememberedIssuer(issuer: unknown): { readonly issuer?: string } {
  return typeof issuer === 'string' ? { issuer } : {}
}

function readAccount(record: unknown, id: UserId): StoredAccount | undefined {
  if (record === undefined) return undefined
  if (typeof record !== 'object' || record === null) throw damaged('account')
  const { name, email, emailVerified, siteAdmin, issuer }: Partial<Record<string, unknown>> = { ...record }
  if (
    typeof name !== 'string' ||
    !(typeof email === 'string' || email === null) ||
    !(typeof emailVerified === 'boolean' || emailVerified === null) ||
    typeof siteAdmin !== 'boolean'
  ) {
    throw damaged('account')
  }
  return { id, name, email, emailVerified, siteAdmin, ...rememberedIssuer(issuer) }
}
