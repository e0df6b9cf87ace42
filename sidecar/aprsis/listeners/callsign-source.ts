import type { StationKey } from '../../messages/store.ts'
import { freeLoginCallsign } from './login-callsigns.ts'

/** Provides login callsigns for connections. No two logins may have the same callsign. */
export interface CallsignSource {
  /**
   * Returns a callsign for one more connection: one that is not `inUse` and not the callsign of one of `stations`.
   * Returns undefined if there is none now. Then, unless {@link exhausted}, the source has requested one. Its owner
   * calls again once it arrives.
   */
  take(inUse: ReadonlySet<string>, stations: ReadonlySet<StationKey>): string | undefined
  readonly exhausted: boolean
  /** Whether a login with `callsign` may begin now. An existing login may continue while this is false. */
  mayLogIn(callsign: string): boolean
}

/**
 * Returns a source for the only process that logs in with `callsign` and its other SSIDs, so all of them are available.
 */
export function ownCallsigns(callsign: string): CallsignSource {
  return {
    take: (inUse, stations) => freeLoginCallsign(callsign, inUse, stations),
    exhausted: true,
    mayLogIn: () => true,
  }
}
