import type { AprsisSettings } from '../config/settings.ts'
import type { PlanLimits } from './filters/plan.ts'
import { loginCallsignCount } from './listeners/login-callsigns.ts'

/** How many connections a fleet may have. */
export interface FleetLimits {
  /** Maximum number of connections while no filter changes. During a change, {@link maxOpen} is the limit. */
  readonly places: number
  /**
   * The limits for {@link planConnections}. They allow one connection less than `places`, so that a new connection can
   * open before an old one closes.
   */
  readonly plan: PlanLimits
  /** Maximum number of open connections while filters change, including those that replace others. */
  readonly maxOpen: number
  /** True if the number of login callsigns is what limits the connections; false if `aprsis.maxConnections` is. */
  readonly isLimitedByCallsigns: boolean
  /** Instruction to the operator in the log if the filters have no room for all stations. */
  readonly remedy: string
}

/** Computes the limits for one instance. `sharers` instances divide the login callsigns of `aprsis.callsign` evenly. */
export function fleetLimits(settings: AprsisSettings, sharers: number): FleetLimits {
  const { callsign, maxConnections, trackOutgoing } = settings
  const callsigns = loginCallsignCount(callsign)
  const places = Math.min(maxConnections, Math.max(1, Math.floor(callsigns / sharers)))
  const isLimitedByCallsigns = places < maxConnections
  return {
    places,
    // If only one connection is allowed, its replacement logs in with the same callsign. The server then drops the
    // older login.
    plan: { trackOutgoing, maxConnections: Math.max(1, places - 1) },
    maxOpen: Math.max(2, places),
    isLimitedByCallsigns,
    remedy: remedyOf(callsigns, sharers, isLimitedByCallsigns),
  }
}

function remedyOf(callsigns: number, sharers: number, isLimitedByCallsigns: boolean): string {
  if (callsigns === 1)
    return 'Set aprsis.callsign to a shorter callsign: further connections need an SSID of two digits, for which this one is too long.'
  if (!isLimitedByCallsigns) return 'Raise aprsis.maxConnections.'
  const reason =
    sharers > 1
      ? `The ${sharers} listeners share the ${callsigns} logins that one callsign allows`
      : `One callsign allows ${callsigns} logins`
  return `${reason}: move some of the stations to a sidecar with another aprsis.callsign and its own database.`
}
