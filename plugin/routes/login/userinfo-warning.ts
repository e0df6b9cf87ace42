import type { Clock } from '../../clock.ts'
import type { LoginError } from '../../errors.ts'
import type { Host } from '../../host/port.ts'
import { causeCode } from '../../log.ts'

const HOUR_MS = 60 * 60_000

/** Warns of a UserInfo endpoint that gave a login no answer. */
export type UserInfoWarning = (domainKey: string, failure: LoginError) => void

/** Writes one such warning per domain and hour into the authentication log: the endpoint may fail at every login. */
export function createUserInfoWarning(host: Pick<Host, 'authLog'>, clock: Clock): UserInfoWarning {
  /** By domain key, when it was warned last. */
  const warnedAt = new Map<string, number>()
  return (domain, failure) => {
    const now = clock.elapsed()
    const before = warnedAt.get(domain)
    if (before !== undefined && now - before < HOUR_MS) return
    warnedAt.set(domain, now)
    const code = causeCode(failure.cause)
    const fields = { ...(code === undefined ? {} : { causeCode: code }), ...failure.details }
    host.authLog({ level: 'warn', event: 'userinfo-failed', message: WENT_ON, domain, fields })
  }
}

const WENT_ON =
  'UserInfo gave no answer, and a login went on with the ID token: claims that only UserInfo has are missing, and groups from them are unknown. Mend the endpoint, or set `issuer.userinfo_endpoint` to false if the ID token has everything.'
