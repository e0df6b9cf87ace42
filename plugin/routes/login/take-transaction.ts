import type { Response } from 'express'
import { LoginError } from '../../errors.ts'
import { type BrowserCookies, digestOf } from '../../login/transaction/login-cookie.ts'
import { TRANSACTION_MS, type Transaction } from '../../login/transaction/transaction.ts'
import type { RouteDeps } from '../strategy.ts'

/**
 * Takes the transaction of an answer's state out of the browser's cookies. Returns undefined if there is none, or if
 * any process of this server has already taken it.
 *
 * @throws LoginError `host_failed` if the store that the processes share does not answer
 */
export async function takeTransaction(
  state: string,
  { cookies, rules }: BrowserCookies,
  { host, transactions }: RouteDeps,
  res: Response,
): Promise<Transaction | undefined> {
  const { transaction, setCookies } = transactions.take(state, rules, cookies)
  if (setCookies.length > 0) res.append('Set-Cookie', [...setCookies])
  if (!transaction) return undefined
  // A copy of the cookie works at every process, so all of them share which answers were used.
  const until = transaction.startedAt + TRANSACTION_MS
  const firstUse = host.sessions.revocations?.once?.(`login ${digestOf(state)}`, until)
  const isFirstUse = await firstUse?.catch((cause: unknown): never => {
    throw new LoginError('host_failed', { cause })
  })
  return isFirstUse === false ? undefined : transaction
}
