import { API_ERRORS, STORE_FAULTS } from './errors.ts'
import type { Distribution, Exposed, Exposition, Family, Reading } from './exposition.ts'

/**
 * A copy of the platforms in sidecar/client, from which this module must not import. If a platform is missing here,
 * callers do not compile.
 */
const PLATFORMS = ['android', 'ios', 'webpush'] as const
type Platform = (typeof PLATFORMS)[number]

/**
 * The counters by name, with their help texts. In `/metrics`, a name has the prefix `mesh_companion_` and the suffix
 * `_total`.
 */
export const COUNTERS = {
  lines_received: 'Packet lines received from APRS-IS; comments of the servers are not counted',
  lines_too_long: 'Lines over 4 KiB, dropped unread',
  packets_unparsable: 'Packet lines dropped because they are not a valid packet or not a message',
  messages_not_addressed: 'Messages dropped because their addressee is not registered',
  messages_blocked: 'Messages dropped because their sender is in stations.blockedSenders',
  messages_not_for_operator:
    'Messages dropped because no person reads them: unwanted acks and rejections, telemetry definitions, directed queries, empty texts without a number',
  messages_stored: 'Messages stored',
  messages_duplicate: 'Retransmissions of a stored message',
  messages_lost: 'Messages that could not be stored',
  acks_received: 'Acks and rejections stored for devices that want them',
  acks_lost: 'Acks and rejections that could not be stored',
  acks_sent: 'Acks sent',
  acks_throttled: 'Acks not sent because of ack.minIntervalMs or ack.maxPerSenderPerMinute',
  acks_unsendable: 'Acks not sent because no login was verified or the database file was gone',
  upstream_connects: 'Logins to APRS-IS servers',
  upstream_disconnects: 'APRS-IS connections that the sidecar did not end itself',
  filters_sent: 'Filters sent to APRS-IS',
  filters_repaired: 'Filter changes sent again because the server did not confirm them',
  append_retries: 'Batches of messages stored again because PostgreSQL was unreachable',
  pushes_claimed: 'Devices that this instance claimed for notification',
  pushes_accepted: 'Notifications that a push gateway accepted',
  pushes_retried: 'Failed attempts to send a notification; each will be repeated',
  pushes_refused: 'Notifications dropped because a push gateway refused them',
  pushes_given_up: 'Notifications dropped after the last try',
  pushes_unsendable: 'Times that a device had messages but could not be notified: no push gateway, or a dead token',
  push_tokens_gone: 'Push tokens that a push gateway reported dead',
  api_requests: 'API requests',
  api_errors: 'API requests answered with an error',
  api_dropped: 'API requests and connections dropped because their client was over a limit',
  api_connections_dropped:
    'API connections dropped because their address, or all addresses together, had too many open connections',
  stations_registered: 'Stations registered for the first time',
  devices_joined: 'Further devices registered for an existing station',
  stations_unregistered: 'Stations unregistered',
  stations_displaced:
    'Stations removed from a full registry for new ones, because they registered only once and never synced',
  stations_expired: 'Stations removed because they did not register within stations.expireAfterHours',
  orphans_removed: 'Orphaned rows removed from the database',
  housekeeping_failed: 'Housekeeping runs that failed',
  backups_made: 'Backups made',
  backups_failed: 'Backups that failed',
} as const
export type CounterName = keyof typeof COUNTERS

/**
 * The counters with labels, and each label's values. All series start at 0, because Prometheus misses the first
 * increase of a new one.
 */
export const LABELS = {
  messages_lost: { reason: [...Object.keys(STORE_FAULTS), 'other'] },
  pushes_accepted: { platform: PLATFORMS },
  pushes_retried: { platform: PLATFORMS, reason: ['gateway', 'phone', 'credentials', 'database'] },
  pushes_refused: { platform: PLATFORMS, reason: ['notification'] },
  pushes_given_up: { platform: PLATFORMS, reason: ['gateway', 'phone', 'database'] },
  pushes_unsendable: { platform: PLATFORMS, reason: ['gateway_off', 'token_dead'] },
  push_tokens_gone: { platform: PLATFORMS },
  api_errors: { reason: Object.keys(API_ERRORS) },
  api_dropped: { limit: ['requests', 'new_stations', 'unread_answers'] },
} as const satisfies Partial<Record<CounterName, Readonly<Record<string, readonly string[]>>>>
type LabelledCounter = keyof typeof LABELS
type PlainCounter = Exclude<CounterName, LabelledCounter>
type Case<Name extends LabelledCounter> = {
  readonly [Label in keyof (typeof LABELS)[Name]]: (typeof LABELS)[Name][Label] extends readonly (infer Value extends
    string)[]
    ? Value
    : never
}

const PUSH_LATENCY: Distribution = {
  name: 'mesh_companion_push_latency_seconds',
  help: 'Time from the arrival of the oldest message of a notification until a push gateway accepted it',
  label: 'platform',
  cases: PLATFORMS,
  buckets: [0.25, 0.5, 1, 2, 2.5, 3, 4, 6, 10, 30, 60, 300, 900, 3600],
}
/**
 * Limit of the observations that wait in memory until `prom-client` is loaded. When it is reached, the sidecar loads
 * the package.
 */
const MAX_WAITING = 1000

/** Counts events, and exposes the counters in the Prometheus text format. */
export interface Metrics {
  count(name: PlainCounter, by?: number): void
  /** Like {@link Metrics.count}, for a counter with labels. */
  countCase<Name extends LabelledCounter>(name: Name, labels: Case<Name>, by?: number): void
  /** Returns the value of a counter, summed over its labels. */
  value(name: CounterName): number
  /**
   * Records the delay of an accepted notification, in seconds: from the arrival of its oldest message until the gateway
   * accepted it.
   */
  observePushLatency(platform: Platform, seconds: number): void
  /** Adds a gauge, such as the number of stations. Its value is read for each scrape. `read` must settle soon. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void
  /**
   * Adds a gauge with labels, named in `labels`. Unlike for counters, the values of the labels need not be known in
   * advance.
   */
  gauges(name: string, help: string, labels: readonly string[], read: () => readonly Reading[]): void
  expose(): Promise<Exposed>
}

/** Creates the metrics of one sidecar. Two sidecars in one process share no metrics. */
export function createMetrics(): Metrics {
  // The counts are plain numbers, because the pipeline counts several times per packet. A scrape copies them.
  const values = Object.fromEntries(Object.keys(COUNTERS).map((name) => [name, 0])) as Record<CounterName, number>
  const cases = new Map<string, Map<string, { readonly labels: Reading['labels']; value: number }>>()
  const families: Family[] = []
  for (const [name, help] of Object.entries(COUNTERS)) {
    const labels = name in LABELS ? LABELS[name as LabelledCounter] : {}
    const series = new Map(combinationsOf(labels).map((values) => [caseKey(values), { labels: values, value: 0 }]))
    cases.set(name, series)
    families.push({
      kind: 'counter',
      name: `mesh_companion_${name}_total`,
      help,
      labels: Object.keys(labels),
      read: () => (name in LABELS ? [...series.values()] : [{ labels: {}, value: values[name as CounterName] }]),
    })
  }
  const latencies: { readonly platform: Platform; readonly seconds: number }[] = []
  let loading: Promise<Exposition> | undefined

  /** Loads `exposition.ts` at the first use, to save a tenth of the start. Passes it everything recorded before. */
  async function exposition(): Promise<Exposition> {
    loading ??= import('./exposition.ts').then((loaded) => loaded.createExposition(PUSH_LATENCY))
    const loaded = await loading
    for (const family of families.splice(0)) loaded.show(family)
    for (const { platform, seconds } of latencies.splice(0)) loaded.observe(platform, seconds)
    return loaded
  }

  return {
    count: (name, by = 1) => {
      values[name] += by
    },
    countCase: (name, labelValues, by = 1) => {
      values[name] += by
      const labels: Reading['labels'] = Object.fromEntries(Object.entries(labelValues))
      const series = cases.get(name)
      const counted = series?.get(caseKey(labels))
      if (counted) counted.value += by
      else series?.set(caseKey(labels), { labels, value: by })
    },
    value: (name) => values[name],
    observePushLatency: (platform, seconds) => {
      latencies.push({ platform, seconds })
      // If `exposition.ts` cannot be loaded, the next request for /metrics reports the error.
      if (latencies.length === MAX_WAITING) exposition().catch(() => latencies.splice(0))
    },
    gauge: (name, help, read) => {
      const family = { kind: 'gauge', name: `mesh_companion_${name}`, help, labels: [] } as const
      families.push({ ...family, read: async () => [{ labels: {}, value: await read() }] })
    },
    gauges: (name, help, labels, read) => {
      families.push({ kind: 'gauge', name: `mesh_companion_${name}`, help, labels, read })
    },
    expose: async () => (await exposition()).expose(),
  }
}

function caseKey(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join()
}

/** Returns every combination of the labels' values. */
function combinationsOf(
  labels: Readonly<Record<string, readonly string[]>>,
): readonly Readonly<Record<string, string>>[] {
  return Object.entries(labels).reduce<readonly Readonly<Record<string, string>>[]>(
    (combinations, [name, values]) =>
      combinations.flatMap((rest) => values.map((value) => ({ ...rest, [name]: value }))),
    [{}],
  )
}
