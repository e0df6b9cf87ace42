import { hostname } from 'node:os'
import { type Api, serveApi } from './api/server.ts'
import type { Connect } from './aprsis/connection/connect-tcp.ts'
import { Link } from './aprsis/link.ts'
import { loginCallsigns } from './aprsis/listeners/login-callsigns.ts'
import { type Clock, systemClock } from './clock.ts'
import { isPostgresAddress } from './config/postgres-address.ts'
import type { Reading } from './config/reading/read.ts'
import type { Settings } from './config/settings.ts'
import type { VapidKeys } from './config/vapid-keys.ts'
import type { Log } from './log.ts'
import { createAckSender } from './messages/acks/ack-sender.ts'
import { type CallsignLists, type CallsignRules, createCallsignRules } from './messages/callsign-rules.ts'
import { createReceiver } from './messages/receiver.ts'
import type { Store } from './messages/store.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { type Backups, openBackups } from './operator/housekeeping/backups.ts'
import { startHousekeeping } from './operator/housekeeping/housekeeper.ts'
import { openOperatorPort } from './operator/operator-port.ts'
import { reloadBy } from './operator/reload.ts'
import { createShutdown, type Shutdown, StoreLeftOpenError } from './operator/shutdown.ts'
import { type RecentEvents, rememberEvents } from './operator/watch/recent-events.ts'
import { type Storing, watchStoring } from './operator/watch/storing.ts'
import { Dispatcher } from './push/delivery/dispatcher.ts'
import { openGateways } from './push/open-gateways.ts'
import { agreeOnVapidKeys } from './push/web-push/shared-vapid-keys.ts'
import { type FileWatch, watchDatabaseFile } from './store/sqlite/database/file-watch.ts'
import { openSqliteStore } from './store/sqlite/open-sqlite.ts'

/** A running sidecar. */
export interface Sidecar {
  /** URL of the API. */
  readonly url: string
  /** URL of the operator's port. */
  readonly adminUrl: string
  /**
   * Applies the changes that need no restart: the callsign lists in `reading`, and a renewed certificate. Never
   * rejects.
   */
  reload(reading: Reading): Promise<void>
  /**
   * Stops within 5 s. Idempotent; never rejects. Pending notifications are sent after the next start. Resolves to false
   * if the store could not be closed, for example because the disk hangs.
   */
  close(): Promise<boolean>
}

/** The functions that open connections to other machines. Tests replace them with their own. */
export interface Outside {
  /** Connects to APRS-IS. Default: over TCP. */
  readonly connect?: Connect
  readonly openGateways: typeof openGateways
}

/** The objects that all parts of a sidecar share. */
interface Core {
  readonly settings: Settings
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  readonly shutdown: Shutdown
  readonly store: Store
}

/**
 * Starts a sidecar. Resolves once the API and the operator's port are listening; APRS-IS may still be unreachable. If
 * the database, a push gateway's files, a port or the certificate is unusable, closes everything and rejects.
 *
 * @param stopping makes the start reject soon when aborted, even if the database does not answer
 */
export async function startSidecar(
  settings: Settings,
  output: Log,
  clock: Clock = systemClock,
  outside: Outside = { openGateways },
  stopping?: AbortSignal,
): Promise<Sidecar> {
  const recent = rememberEvents(output, clock)
  const { log } = recent
  const shutdown = createShutdown(clock, log)
  const stopEarly = () => void shutdown.close()
  stopping?.addEventListener('abort', stopEarly, { once: true })
  try {
    const metrics = createMetrics()
    const store = shutdown.add('store', 'store', await openStore(settings, clock, log, metrics, stopping))
    return await startParts({ settings, clock, log, metrics, shutdown, store }, outside, recent)
  } catch (cause) {
    if (await shutdown.close()) throw cause
    throw new StoreLeftOpenError('The start failed, and the store could not be closed.', { cause })
  }
}

async function startParts(core: Core, outside: Outside, recent: RecentEvents): Promise<Sidecar> {
  const { settings, clock, log, shutdown, store } = core
  const file = shutdown.add('watch', 'file', await watchDatabaseFile(settings.database, clock, log))
  const storing = shutdown.add('watch', 'storing', watchStoring(store, clock))
  const callsigns = createCallsignRules({
    lists: settings.stations,
    loginCallsigns: loginCallsigns(settings.aprsis.callsign),
    stations: store.stations,
    log,
  })
  const vapidKeys = await agreeOnVapidKeys(settings, store.isShared ? store.keyring : undefined, log)
  const dispatcher = startPushes(core, outside, vapidKeys)
  const api = await startApi(core, callsigns, vapidKeys?.publicKey)
  const link = startLink(core, outside, callsigns, file, storing)
  const backups = await startHousekeepingAndBackups(core)
  const admin = shutdown.add(
    'work',
    'admin',
    await openOperatorPort({
      settings,
      store,
      upstream: () => link.status(),
      problems: () => [...link.problems(), ...file.problems(), ...storing.problems()],
      gateways: () => dispatcher.gateways(),
      sendTests: (station, from, text) => dispatcher.sendTests(station, from, text),
      pushesUnderWay: () => dispatcher.inFlight(),
      backups,
      certificateExpiresAt: api.certificateExpiresAt,
      lastPacketAt: () => link.lastPacketAt,
      recent,
      metrics: core.metrics,
      clock,
    }),
  )
  const setCallsignLists = (lists: CallsignLists) => {
    callsigns.setLists(lists)
    link.refilter()
  }
  return {
    url: api.url,
    adminUrl: admin.url,
    reload: reloadBy({ settings, setCallsignLists, reloadTls: api.reloadTls, log }),
    close: shutdown.close,
  }
}

function startPushes(core: Core, outside: Outside, vapidKeys: VapidKeys | undefined): Dispatcher {
  const { settings, clock, log, metrics, shutdown, store } = core
  const { stations, pushes } = store
  const gateways = outside.openGateways(settings.push, log, clock, vapidKeys)
  return shutdown.add('work', 'push', new Dispatcher({ gateways, stations, pushes, clock, log, metrics }))
}

async function startApi(core: Core, callsigns: CallsignRules, publicKey: string | undefined): Promise<Api> {
  const { settings, clock, log, metrics, shutdown, store } = core
  const { listen, rateLimit, push } = settings
  const webPush = publicKey === undefined ? push.webpush : { ...push.webpush, publicKey }
  const { isReserved } = callsigns
  return shutdown.add(
    'work',
    'api',
    await serveApi({ listen, rateLimit, webPush, store, isReserved, clock, metrics, log }),
  )
}

/**
 * Opens the connections to APRS-IS. The receiver gets the lines that arrive, and sends its acks on the same
 * connections.
 */
function startLink(core: Core, outside: Outside, callsigns: CallsignRules, file: FileWatch, history: Storing): Link {
  const { settings, clock, log, metrics, shutdown, store } = core
  const { activeStations, filterNames, isBlocked } = callsigns
  const link = shutdown.add(
    'work',
    'upstream',
    new Link({
      connect: outside.connect,
      settings: settings.aprsis,
      stations: filterNames,
      clock,
      log,
      metrics,
      shared: store.isShared ? store : undefined,
    }),
  )
  const receive = createReceiver({
    stations: activeStations,
    history,
    receivedAcks: store.receivedAcks,
    isBlocked,
    // If the database file is deleted or replaced, its messages are lost with the process. Without acks, senders
    // retransmit.
    acks: createAckSender({
      send: (line) => file.kept() && link.send(line),
      canSend: () => file.kept() && link.verified(),
      metrics,
    }),
    metrics,
    log,
  })
  link.open(receive)
  store.stations.onChange(() => link.refilter())
  return link
}

async function startHousekeepingAndBackups(core: Core): Promise<Backups> {
  const { settings, clock, log, metrics, shutdown, store } = core
  shutdown.add('work', 'housekeeping', startHousekeeping({ store, settings: settings.stations, clock, metrics, log }))
  return shutdown.add(
    'work',
    'backups',
    await openBackups({
      backUp: store.isShared ? undefined : store.backUp,
      settings: settings.backup,
      callsign: settings.aprsis.callsign,
      clock,
      metrics,
      log,
    }),
  )
}

/** Opens the store that the setting `database` names. Rejects with a {@link StoreError}. */
async function openStore(
  settings: Settings,
  clock: Clock,
  log: Log,
  metrics: Metrics,
  stopping?: AbortSignal,
): Promise<Store> {
  const { history, stations, ack, push, rateLimit, database } = settings
  const instance = settings.instance ?? hostname()
  const storeSettings = { history, stations, ack, push, rateLimit, instance }
  if (!isPostgresAddress(database)) return openSqliteStore(database, storeSettings, clock, log)
  // The module is imported only for PostgreSQL, because its client library may not be installed otherwise.
  const { openPostgresStore } = await import('./store/postgres/open-postgres.ts')
  const { databaseTls } = settings
  return openPostgresStore({ ...storeSettings, database, databaseTls }, clock, log, metrics, stopping)
}
