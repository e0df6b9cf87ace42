import { hostname } from 'node:os'
import { serveApi } from './api/server.ts'
import type { Connect } from './aprsis/connection/connect-tcp.ts'
import { connectAprsIs } from './aprsis/link.ts'
import { loginCallsigns } from './aprsis/listeners/login-callsigns.ts'
import { type Clock, systemClock } from './clock.ts'
import { isPostgresAddress } from './config/postgres-address.ts'
import type { Reading } from './config/reading/read.ts'
import type { Settings } from './config/settings.ts'
import type { Log } from './log.ts'
import { createAckSender } from './messages/ack-sender.ts'
import { type CallsignLists, createCallsignRules } from './messages/callsign-rules.ts'
import { createReceiver } from './messages/receiver.ts'
import type { Store } from './messages/store.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { openBackups } from './operator/housekeeping/backups.ts'
import { startHousekeeping } from './operator/housekeeping/housekeeper.ts'
import { openOperatorPort } from './operator/operator-port.ts'
import { reloadBy } from './operator/reload.ts'
import { createShutdown, StoreLeftOpenError } from './operator/shutdown.ts'
import { rememberEvents } from './operator/watch/recent-events.ts'
import { watchStoring } from './operator/watch/storing.ts'
import { watchTraffic } from './operator/watch/traffic.ts'
import { createDispatcher } from './push/delivery/dispatcher.ts'
import { openGateways } from './push/open-gateways.ts'
import { agreeOnVapidKeys } from './push/web-push/shared-vapid-keys.ts'
import { watchDatabaseFile } from './store/sqlite/database/file-watch.ts'
import { openSqliteStore } from './store/sqlite/open-sqlite.ts'

/** A sidecar at work. */
export interface Sidecar {
  /** Where the API is. */
  readonly url: string
  /** Where the operator's port is. */
  readonly adminUrl: string
  /**
   * Takes up what changes without a restart: the lists of calls in what was read, and a renewed certificate. Never
   * rejects.
   */
  reload(reading: Reading): Promise<void>
  /**
   * Stops within 5 s. Idempotent; never rejects. What is not pushed by then is taken up at the next start. Resolves
   * with false if the store could not be closed, as with a disk that hangs.
   */
  close(): Promise<boolean>
}

/** What opens the connections to other machines. */
export interface Outside {
  /** To APRS-IS; TCP where nothing is said. */
  readonly connect?: Connect
  readonly openGateways: typeof openGateways
}

/**
 * Starts everything, and resolves once API and operator's port serve; APRS-IS may still be out of reach then. Rejects,
 * with nothing left open, when a part cannot start: the database, a push gateway's files, a port, the certificate.
 *
 * Once `stopping` is aborted, the start ends early and rejects, also if the database does not answer.
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
    const file = shutdown.add('watch', 'file', await watchDatabaseFile(settings.database, clock, log))
    const storing = shutdown.add('watch', 'storing', watchStoring(store, clock))
    const { stations, pushes } = store
    const calls = createCallsignRules({
      lists: settings.stations,
      loginCallsigns: loginCallsigns(settings.aprsis.callsign),
      stations,
      log,
    })

    const traffic = watchTraffic(clock)
    const vapidKeys = await agreeOnVapidKeys(settings, store.isShared ? store.keyring : undefined, log)
    const gateways = outside.openGateways(settings.push, log, clock, vapidKeys)
    const dispatcher = shutdown.add(
      'work',
      'push',
      createDispatcher({ gateways, stations, pushes, clock, log, metrics }),
    )

    const { listen, rateLimit } = settings
    const { isReserved, isBlocked, activeStations: heard } = calls
    const webPush = { ...settings.push.webpush, ...(vapidKeys && { publicKey: vapidKeys.publicKey }) }
    const api = shutdown.add(
      'work',
      'api',
      await serveApi({ listen, rateLimit, webPush, store, isReserved, clock, metrics, log }),
    )

    // No ack for what is lost with this process: then its sender tries again, and the next one stores it.
    const send = (line: string) => file.kept() && link.send(line)
    const receive = createReceiver({
      stations: heard,
      history: storing,
      isBlocked,
      acks: createAckSender({ send, canSend: () => file.kept() && link.verified(), metrics }),
      metrics,
      log,
    })
    const link = shutdown.add(
      'work',
      'upstream',
      connectAprsIs({
        connect: outside.connect,
        settings: settings.aprsis,
        stations: () => heard.keys(),
        onLines: traffic.receiving(receive),
        clock,
        log,
        metrics,
        shared: store.isShared ? store : undefined,
      }),
    )
    stations.onChange(link.refilter)
    shutdown.add('work', 'housekeeping', startHousekeeping({ store, settings: settings.stations, clock, metrics, log }))

    const backups = shutdown.add(
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

    const admin = shutdown.add(
      'work',
      'admin',
      await openOperatorPort({
        settings,
        store,
        upstream: link.status,
        problems: () => [...link.problems(), ...file.problems(), ...storing.problems()],
        gateways: dispatcher.gateways,
        pushesUnderWay: dispatcher.underWay,
        backups,
        certificateExpiresAt: api.certificateExpiresAt,
        traffic,
        recent,
        metrics,
        clock,
      }),
    )
    const changeCalls = (lists: CallsignLists) => {
      calls.setLists(lists)
      link.refilter()
    }
    return {
      url: api.url,
      adminUrl: admin.url,
      reload: reloadBy({ settings, setCallsignLists: changeCalls, reloadTls: api.reloadTls, log }),
      close: shutdown.close,
    }
  } catch (cause) {
    if (await shutdown.close()) throw cause
    throw new StoreLeftOpenError('The start failed, and the store could not be closed.', { cause })
  }
}

/** The store in whatever `database` names. Rejects with a `StoreError`. */
async function openStore(
  settings: Settings,
  clock: Clock,
  log: Log,
  metrics: Metrics,
  stopping?: AbortSignal,
): Promise<Store> {
  const named = { ...settings, instance: settings.instance ?? hostname() }
  if (!isPostgresAddress(settings.database)) return openSqliteStore(settings.database, named, clock, log)
  // Its client library is optional: loaded where it is needed only.
  const { openPostgresStore } = await import('./store/postgres/open-postgres.ts')
  return openPostgresStore(named, clock, log, metrics, stopping)
}
