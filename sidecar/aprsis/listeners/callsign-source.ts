import type { StationKey } from '../../messages/store.ts'
import { freeLoginCallsign } from './login-callsigns.ts'

/** Where the calls come from that connections log in with: no two logins may have the same. */
export interface CallsignSource {
  /**
   * A call for one more connection beside those that have `inUse`, never that of one of `stations`. Undefined when
   * there is none: for good when {@link exhausted} says so, else until one was asked for, which the owner of the source
   * is told of.
   */
  take(inUse: ReadonlySet<string>, stations: ReadonlySet<StationKey>): string | undefined
  readonly exhausted: boolean
  /** Whether a login with `call` may be begun now. One that is up may stay while this is false. */
  mayLogIn(call: string): boolean
}

/** For the only process that logs in with the calls of `callsign`: all are its own. */
export function ownCallsigns(callsign: string): CallsignSource {
  return {
    take: (inUse, stations) => freeLoginCallsign(callsign, inUse, stations),
    exhausted: true,
    mayLogIn: () => true,
  }
}
