import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { Metrics } from '../../metrics.ts'
import { type ClientAddress, shownNetwork } from './client-address.ts'

/**
 * The limits per client, with the setting that changes each. The limit of unread answers has no setting, so a
 * description is shown instead.
 */
const LIMITS = {
  requests: 'rateLimit.max',
  new_stations: 'rateLimit.newStationsPerHour',
  connections: 'rateLimit.connectionsPerAddress',
  unread_answers: 'bytes of answers that a client may leave unread',
} as const

export type ClientLimit = keyof typeof LIMITS

const HOUR_MS = 3_600_000
/** Limit of warnings per hour. It prevents an attack from many networks from filling the log. */
const MAX_WARNINGS = 1000

/** Counts requests and connections refused because of a limit. Warns once per hour for each network and limit. */
export class OverLimit {
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #metrics: Pick<Metrics, 'count' | 'countCase'>
  readonly #log: Pick<Log, 'warn'>
  /** The warnings logged since {@link #hourBeganAt}: for each, the network and the limit that it exceeded. */
  #warned = new Set<string>()
  #hourBeganAt = Number.NEGATIVE_INFINITY

  constructor(clock: Pick<Clock, 'elapsed'>, metrics: Pick<Metrics, 'count' | 'countCase'>, log: Pick<Log, 'warn'>) {
    this.#clock = clock
    this.#metrics = metrics
    this.#log = log
  }

  /** Counts a request or connection that was refused because `client` exceeded `limit`. */
  refuse(client: ClientAddress, limit: ClientLimit): void {
    if (limit === 'connections') this.#metrics.count('api_connections_dropped')
    else this.#metrics.countCase('api_dropped', { limit })
    const now = this.#clock.elapsed()
    if (now - this.#hourBeganAt >= HOUR_MS) {
      this.#warned = new Set()
      this.#hourBeganAt = now
    }
    const address = shownNetwork(client)
    const warning = `${address} ${limit}`
    if (this.#warned.has(warning) || this.#warned.size >= MAX_WARNINGS) return
    this.#warned.add(warning)
    this.#log.warn(
      'client-over-limit',
      'A client is over a limit, so its requests are dropped. If many phones share its address, or you are testing, raise the setting that limit names; the limit of unread answers has none.',
      { address, limit: LIMITS[limit] },
    )
  }
}
