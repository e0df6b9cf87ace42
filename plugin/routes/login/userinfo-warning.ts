import type { Clock } from '../../clock.ts'
import type { LoginError } from '../../errors.ts'
import type { Host } from '../../host/port.ts'
import { causeCode } from '../../log.ts'

const HOUR_MS = 60 * 60_000

/** Warns that the UserInfo endpoint did not answer, and that a login continued without it. */
export type UserInfoWarning = (domainKey: string, failure: LoginError) => void

/**
 * Returns a function that writes at most one warning per domain and hour to the authentication log, because the
 * UserInfo endpoint may fail at every login.
 */
export function createUserInfoWarning(host: Pick<Host, 'authLog'>, clock: Clock): UserInfoWarning {
  /** Maps each domain key to the time of the last UserInfo warning, in milliseconds of `Clock.elapsed`. */
  const warnedAt = new Map<string, number>()
  return (domain, failure) => {
    const now = clock.elapsed()
    const lastWarnedAt = warnedAt.get(domain)
    if (lastWarnedAt !== undefined && now - lastWarnedAt < HOUR_MS) return
    warnedAt.set(domain, now)
    const code = causeCode(failure.cause)
    const fields = { ...(code === undefined ? {} : { causeCode: code }), ...failure.details }
    host.authLog({ level: 'warn', event: 'userinfo-failed', message: MESSAGE, domain, fields })
  }
}

const MESSAGE =
  'UserInfo gave no answer, and a login continued with the ID token: claims that only UserInfo has are missing, and groups from them are unknown. Fix the endpoint, or set `issuer.userinfo_endpoint` to false if the ID token has everything.'
