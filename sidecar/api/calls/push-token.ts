import { ApiError } from '../../errors.ts'
import type { Platform } from '../../messages/store.ts'

/**
 * What a platform's tokens look like, where that is known, and what to say of others: the app learns here of what the gateway would
 * only call dead. FCM's have no documented form. Those of APNs are bytes, of which Apple leaves the number open: 32 so far, and no more
 * than 100 here. Its client leaves out of them what is no hex digit, and would send to another phone, or none.
 */
const FORMS: Partial<Readonly<Record<Platform, { readonly form: RegExp; readonly reason: string }>>> = {
  ios: {
    form: /^(?:[0-9a-f]{2}){1,100}$/i,
    reason:
      'On iOS it must be the device token that APNs gave the app, in hex: two of 0-9 and a-f for each of at most 100 bytes.',
  },
}

/** Throws `invalid_request` when `pushToken` cannot be a token of its platform. */
export function checkPushToken({ platform, pushToken }: { readonly platform: Platform; readonly pushToken: string }) {
  const rule = FORMS[platform]
  if (rule && !rule.form.test(pushToken))
    throw new ApiError('invalid_request', [{ path: 'pushToken', reason: rule.reason }])
}
