import type { AprsisSettings } from '../config/settings.ts'
import type { PlanLimits } from './filters/plan.ts'
import { loginCallsignCount } from './listeners/login-callsigns.ts'

/** How many connections a fleet may have. */
export interface FleetLimits {
  /** Maximum number of connections, except while filters change; see {@link maxOpen}. */
  readonly places: number
  /** The limits of a plan. A plan leaves one connection unused, so that a new one can open before an old one closes. */
  readonly plan: PlanLimits
  /** Maximum number of open connections while filters change, including those that replace others. */
  readonly maxOpen: number
  /** Whether the number of callsigns, rather than `aprsis.maxConnections`, limits the connections. */
  readonly isLimitedByCallsigns: boolean
  /** For the log: what the operator should do if the filters have no room for all stations. */
  readonly remedy: string
}

/** Computes the limits of one of `sharers` instances, which share the callsigns of `aprsis.callsign` evenly. */
export function fleetLimits(settings: AprsisSettings, sharers: number): FleetLimits {
  const { callsign, maxConnections, trackOutgoing } = settings
  const callsigns = loginCallsignCount(callsign)
  const places = Math.min(maxConnections, Math.max(1, Math.floor(callsigns / sharers)))
  const isLimitedByCallsigns = places < maxConnections
  return {
    places,
    // If only one connection is allowed, the connection that replaces it uses the same callsign. The server then drops
    // the older login.
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
      ? `The ${sharers} listeners share the ${callsigns} callsigns that logins can use`
      : `Logins can use ${callsigns} callsigns`
  return `${reason}: move some of the stations to a sidecar with another aprsis.callsign and its own database.`
}
