import type { StationKey } from '../../messages/store.ts'
import { freeLoginCallsign } from './login-callsigns.ts'

/** Provides login callsigns for connections. No two logins may have the same callsign. */
export interface CallsignSource {
  /**
   * Returns a callsign for one more connection: not `inUse`, and no station in `stations`. Returns undefined if none is
   * free. Then the source requests one, unless {@link exhausted}, and the fleet tries again when it is granted.
   */
  take(inUse: ReadonlySet<string>, stations: ReadonlySet<StationKey>): string | undefined
  readonly exhausted: boolean
  /** Whether a login with `callsign` may begin now. An existing login may continue while this is false. */
  mayLogIn(callsign: string): boolean
}

/**
 * Returns a source of login callsigns for a process that does not share `callsign` with other processes. The process
 * may use all SSIDs of the callsign.
 */
export function ownCallsigns(callsign: string): CallsignSource {
  return {
    take: (inUse, stations) => freeLoginCallsign(callsign, inUse, stations),
    exhausted: true,
    mayLogIn: () => true,
  }
}
