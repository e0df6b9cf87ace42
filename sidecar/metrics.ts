import { API_ERRORS, STORE_FAULTS } from './errors.ts'
import type { Distribution, Exposed, Exposition, Family, Reading } from './exposition.ts'

/** Written here again, since counting knows no room; the compiler holds whoever counts to it. */
const PLATFORMS = ['android', 'ios', 'webpush'] as const
type Platform = (typeof PLATFORMS)[number]

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
  append_retries: 'Times that messages were tried to be stored again, since PostgreSQL was away',
  pushes_claimed: 'Devices that this instance took on to notify',
  pushes_accepted: 'Notifications that a gateway accepted',
  pushes_retried: 'Tries of notifications that failed and will be repeated',
  pushes_refused: 'Notifications that a gateway refused for good',
  pushes_given_up: 'Notifications given up after the last try',
  pushes_unsendable: 'Times that a device had news and nowhere to be told: its gateway is off, or its push token dead',
  push_tokens_gone: 'Push tokens that a gateway reported dead',
  api_requests: 'API requests',
  api_errors: 'API requests answered with an error',
  api_dropped: 'API requests and connections of clients over a limit, dropped',
  api_connections_dropped: 'Connections to the API ended at once, since their address had too many, or all together',
  stations_registered: 'Stations registered for the first time',
  devices_joined: 'Devices that came to a registered station as another one of it',
  stations_unregistered: 'Stations unregistered',
  stations_displaced: 'Unproven stations that made room for new ones in a full registry',
  stations_expired: 'Stations forgotten because they had not registered for too long',
  orphans_removed: 'Rows removed that belonged to no station',
  housekeeping_failed: 'Runs of the housekeeping that failed',
  backups_made: 'Backups made',
  backups_failed: 'Backups that failed',
} as const
export type CounterName = keyof typeof COUNTERS

/**
 * The counters that tell cases apart: their labels, with every value that these can have. All cases are shown from the
 * start, since Prometheus takes a series that begins at 5 for one that did not grow.
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
  help: 'From the oldest message of a notification coming in to the gateway accepting it',
  label: 'platform',
  cases: PLATFORMS,
  buckets: [0.25, 0.5, 1, 2, 2.5, 3, 4, 6, 10, 30, 60, 300, 900, 3600],
}
/**
 * So many observations wait until the numbers are first asked for. More load what takes them: they must not grow for
 * ever.
 */
const MAX_WAITING = 1000

/** Counts outcomes, and shows them in the Prometheus text format. */
export interface Metrics {
  count(name: PlainCounter, by?: number): void
  /** The same for a counter that tells cases apart. */
  countCase<Name extends LabelledCounter>(name: Name, which: Case<Name>, by?: number): void
  /** Over all cases. */
  value(name: CounterName): number
  /** A gateway accepted a notification so many seconds after the oldest message in it came in. */
  observePushLatency(platform: Platform, seconds: number): void
  /** A number that is read when asked for, such as how many stations there are. `read` has to settle soon. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void
  /** Several numbers of one name, or none; `labels` are the names of what tells them apart. */
  gauges(name: string, help: string, labels: readonly string[], read: () => readonly Reading[]): void
  expose(): Promise<Exposed>
}

/** Counters of one sidecar; nothing is shared between two in one process. */
export function createMetrics(): Metrics {
  // Counted in plain objects and handed over when asked: the pipeline counts several times a packet.
  const values = Object.fromEntries(Object.keys(COUNTERS).map((name) => [name, 0])) as Record<CounterName, number>
  const cases = new Map<string, Map<string, { readonly labels: Reading['labels']; value: number }>>()
  const families: Family[] = []
  for (const [name, help] of Object.entries(COUNTERS)) {
    const labels = name in LABELS ? LABELS[name as LabelledCounter] : {}
    const ofName = new Map(combinationsOf(labels).map((one) => [caseKey(one), { labels: one, value: 0 }]))
    cases.set(name, ofName)
    families.push({
      kind: 'counter',
      name: `mesh_companion_${name}_total`,
      help,
      labels: Object.keys(labels),
      read: () => (name in LABELS ? [...ofName.values()] : [{ labels: {}, value: values[name as CounterName] }]),
    })
  }
  const latencies: { readonly platform: Platform; readonly seconds: number }[] = []
  let loading: Promise<Exposition> | undefined

  /**
   * What shows the numbers, with all that waited for it. Not loaded before it is needed: it would take a tenth of the
   * start.
   */
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
    countCase: (name, which, by = 1) => {
      values[name] += by
      const labels: Reading['labels'] = Object.fromEntries(Object.entries(which))
      const ofName = cases.get(name)
      const known = ofName?.get(caseKey(labels))
      if (known) known.value += by
      else ofName?.set(caseKey(labels), { labels, value: by })
    },
    value: (name) => values[name],
    observePushLatency: (platform, seconds) => {
      latencies.push({ platform, seconds })
      // Where it cannot be loaded, /metrics says so.
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

/** Every way to give each label one of its values. */
function combinationsOf(
  labels: Readonly<Record<string, readonly string[]>>,
): readonly Readonly<Record<string, string>>[] {
  return Object.entries(labels).reduce<readonly Readonly<Record<string, string>>[]>(
    (combinations, [name, values]) => combinations.flatMap((one) => values.map((value) => ({ ...one, [name]: value }))),
    [{}],
  )
}
