import type { Response } from 'express'
import { LoginError } from '../../errors.ts'
import { type BrowserCookies, digestOf } from '../../login/transaction/login-cookie.ts'
import { TRANSACTION_MS, type Transaction } from '../../login/transaction/transaction.ts'
import type { RouteDeps } from '../strategy.ts'

/**
 * Takes the transaction of an answer's state from the browser's cookies, unless it was taken before.
 *
 * @throws LoginError `host_failed` if the processes' shared store does not answer
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
  // A copy of the transaction cookie would work in every process. So they share a record of used `state` values.
  const until = transaction.startedAt + TRANSACTION_MS
  const firstUse = host.sessions.revocations?.once?.(`login ${digestOf(state)}`, until)
  const isFirstUse = await firstUse?.catch((cause: unknown): never => {
    throw new LoginError('host_failed', { cause })
  })
  return isFirstUse === false ? undefined : transaction
}
