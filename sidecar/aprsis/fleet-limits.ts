import type { AprsisSettings } from '../config/settings.ts'
import type { PlanLimits } from './filters/plan.ts'
import { loginCallsignCount } from './listeners/login-callsigns.ts'

/** How many connections a fleet may have. */
export interface FleetLimits {
  /** Connections at a time, without those that exceed it during a change. */
  readonly places: number
  /** The limits of a plan: one place stays free, for a connection that takes over from another. */
  readonly plan: PlanLimits
  /** Connections at a time, those that take over from others included. */
  readonly maxOpen: number
  /** Whether it is the number of callsigns that limits the connections, and not `aprsis.maxConnections`. */
  readonly isLimitedByCallsigns: boolean
  /** The remedy if there is no room for all stations, for the log. */
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
    // With a single place, the successor logs in with the same callsign, and the server then drops the older login.
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
