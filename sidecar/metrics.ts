import { Counter, Gauge, Registry } from 'prom-client'

/** Every counter: its name behind `mesh_companion_`, without the `_total` that it is shown with, and what it counts. */
export const COUNTERS = {
  lines_received: 'Packet lines that arrived from APRS-IS, server chatter not counted',
  lines_too_long: 'Lines over 4 KiB, dropped unread',
  packets_unparsable: 'Packet lines that are no packet or no message, dropped',
  messages_not_addressed: 'Messages to somebody who is not registered, dropped',
  messages_blocked: 'Messages of senders that the operator blocks, dropped',
  messages_not_for_operator: 'Acks, rejections, telemetry definitions and directed queries, dropped',
  messages_stored: 'Messages stored',
  messages_duplicate: 'Retransmissions of a stored message',
  messages_lost: 'Messages that could not be stored',
  acks_sent: 'Acks sent',
  acks_throttled: 'Acks held back by the throttle',
  acks_unsendable: 'Acks that had no verified connection to go by, or a database file to rely on',
  upstream_connects: 'Logins to an APRS-IS server',
  upstream_disconnects: 'APRS-IS connections that ended without our doing',
  filters_sent: 'Filters sent to APRS-IS',
  filters_repaired: 'Filters that the server did not confirm, sent again',
  pushes_accepted: 'Notifications that a gateway accepted',
  pushes_retried: 'Notifications tried again after a passing fault',
  pushes_refused: 'Notifications that a gateway refused for good',
  pushes_given_up: 'Notifications given up after the last try',
  pushes_unsendable: 'Times that a station had news and nowhere to be told: its gateway is off, or its push token dead',
  push_tokens_gone: 'Push tokens that a gateway reported dead',
  api_requests: 'API requests',
  api_errors: 'API requests answered with an error',
  api_dropped: 'API requests dropped by the rate limit',
  api_connections_dropped: 'Connections to the API ended at once, since their address had too many',
  stations_registered: 'Stations registered for the first time',
  stations_unregistered: 'Stations unregistered',
  stations_expired: 'Stations forgotten because they had not registered for too long',
  orphans_removed: 'Rows removed that belonged to no station',
  housekeeping_failed: 'Runs of the housekeeping that failed',
} as const
export type CounterName = keyof typeof COUNTERS

/** Counts outcomes, and shows them in the Prometheus text format. */
export interface Metrics {
  count(name: CounterName, by?: number): void
  value(name: CounterName): number
  /** A number that is read when asked for, such as how many stations there are. `read` has to settle soon. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void
  contentType: string
  expose(): Promise<string>
}

/** Counters of one sidecar; nothing is shared between two in one process. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  const values = Object.fromEntries(Object.keys(COUNTERS).map((name) => [name, 0])) as Record<CounterName, number>
  for (const [name, help] of Object.entries(COUNTERS)) {
    // Counted in a plain object and handed over when asked: the pipeline counts several times a packet.
    new Counter({
      name: `mesh_companion_${name}_total`,
      help,
      registers: [registry],
      collect() {
        this.reset()
        this.inc(values[name as CounterName])
      },
    })
  }
  return {
    count: (name, by = 1) => {
      values[name] += by
    },
    value: (name) => values[name],
    gauge: (name, help, read) => {
      new Gauge({
        name: `mesh_companion_${name}`,
        help,
        registers: [registry],
        async collect() {
          this.set(await read())
        },
      })
    },
    contentType: registry.contentType,
    expose: () => registry.metrics(),
  }
}
