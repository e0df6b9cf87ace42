import { baseCallsign } from '../../aprs/station.ts'

/** A callsign, with or without SSID, but not a longer one, for which servers also send messages (`g/CALL*`). */
const WITH_ANY_SSID = /^([A-Z0-9]+)(?:-[A-Z0-9]{1,2})?$/

const NONE: readonly string[] = []

/** The stations with a device that receives the messages addressed to any SSID of its callsign. */
export class AnySsidStations {
  /** Keys of the stations, grouped by callsign without SSID. */
  readonly #byCallsign = new Map<string, ReadonlySet<string>>()

  /**
   * Records whether a device of the station receives the messages addressed to any SSID of its callsign. Returns true
   * if the record changed.
   */
  set(station: string, hasAnySsid: boolean): boolean {
    const callsign = baseCallsign(station)
    const stations = new Set(this.#byCallsign.get(callsign))
    if (stations.has(station) === hasAnySsid) return false
    if (hasAnySsid) stations.add(station)
    else stations.delete(station)
    if (stations.size > 0) this.#byCallsign.set(callsign, stations)
    else this.#byCallsign.delete(callsign)
    return true
  }

  /** Returns the stations that also receive a message to `addressee`, which is another SSID of their callsign. */
  besides(addressee: string): readonly string[] {
    // A shortcut for speed: this method is called for each message packet, and usually no device wants messages to all
    // SSIDs.
    if (this.#byCallsign.size === 0) return NONE
    const [, callsign = ''] = WITH_ANY_SSID.exec(addressee) ?? []
    const stations = this.#byCallsign.get(callsign)
    return stations ? [...stations].filter((station) => station !== addressee) : NONE
  }

  /** Returns all stations with a device that receives the messages addressed to any SSID of its callsign. */
  keys(): readonly string[] {
    return [...this.#byCallsign.values()].flatMap((stations) => [...stations])
  }
}
