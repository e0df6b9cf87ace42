import type { Clock, Timer } from '../clock.ts'
import type { StationKey } from '../messages/store.ts'
import type { Connection, ConnectionState } from './connection/connection.ts'
import type { Member } from './filters/rollout.ts'

/**
 * How long a server must have a station before another connection drops it. Two servers rarely get a message more than
 * 5 s apart.
 */
const OVERLAP_MS = 5000

/**
 * A connection of the fleet, with its planned stations. After 5 s of `up` without a filter change it is *settled*:
 * others may drop stations that it has too.
 */
export class FleetMember implements Member {
  readonly id: number
  readonly connection: Connection
  readonly #clock: Clock
  stations: ReadonlySet<StationKey>
  next: ReadonlySet<StationKey> | undefined
  retiring = false
  /** Whether a new connection must replace this one, because the server never confirmed its filter. */
  mustRenew = false
  #settled = false
  #settling: Timer | undefined

  constructor(id: number, connection: Connection, stations: ReadonlySet<StationKey>, clock: Clock) {
    this.id = id
    this.connection = connection
    this.stations = stations
    this.#clock = clock
  }

  get state(): ConnectionState {
    return this.connection.state
  }

  /** Whether the connection is logged in, so that messages may arrive on it. */
  get up(): boolean {
    return this.state === 'up' || this.state === 'confirming' || this.state === 'unconfirmed'
  }

  /** Whether the server has the newest filter. For a server that does not answer `#filter` lines, this is assumed. */
  get isFilterSet(): boolean {
    return this.state === 'up' || this.state === 'unconfirmed'
  }

  get settled(): boolean {
    return this.#settled
  }

  /**
   * Marks the connection as settled after 5 s, and then calls `onSettled`. Further calls before {@link unsettle} have
   * no effect.
   */
  settle(onSettled: () => void): void {
    this.#settling ??= this.#clock.after(OVERLAP_MS, () => {
      this.#settled = true
      onSettled()
    })
  }

  unsettle(): void {
    this.#settled = false
    this.#settling?.cancel()
    this.#settling = undefined
  }
}
