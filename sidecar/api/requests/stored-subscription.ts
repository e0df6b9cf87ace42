import { ApiError } from '../../errors.ts'
import { parseSubscription, subscriptionText } from '../../push/web-push/subscription.ts'

/** What is kept of the subscription that a phone sent as its push token; throws `invalid_request` with every mistake in it. */
export function storedSubscription(pushToken: string, allowPrivate: boolean): string {
  const parsed = parseSubscription(pushToken, allowPrivate)
  if ('subscription' in parsed) return subscriptionText(parsed.subscription)
  const path = (member: string) => (member === '' ? 'pushToken' : `pushToken.${member}`)
  throw new ApiError(
    'invalid_request',
    parsed.problems.map(({ path: member, reason }) => ({ path: path(member), reason })),
  )
}
