import type { StationKey } from '../../messages/store.ts'
import { freeLoginCallsign } from './login-callsigns.ts'

/** Provides the callsigns that connections log in with. No two logins may have the same callsign. */
export interface CallsignSource {
  /**
   * Returns a callsign for one more connection: one that is not `inUse` and not the callsign of one of `stations`.
   * Returns undefined if there is none. If {@link exhausted}, there will be none; otherwise the source has requested
   * one, and its owner calls again once it arrives.
   */
  take(inUse: ReadonlySet<string>, stations: ReadonlySet<StationKey>): string | undefined
  readonly exhausted: boolean
  /** Whether a login with `callsign` may begin now. A login that is up may stay while this is false. */
  mayLogIn(callsign: string): boolean
}

/** A source for the only process that logs in with `callsign` and its further SSIDs: all of them are free to use. */
export function ownCallsigns(callsign: string): CallsignSource {
  return {
    take: (inUse, stations) => freeLoginCallsign(callsign, inUse, stations),
    exhausted: true,
    mayLogIn: () => true,
  }
}
