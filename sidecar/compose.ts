import { openOperatorPort } from './admin/operator-port.ts'
import { rememberEvents } from './admin/recent-events.ts'
import { watchTraffic } from './admin/traffic.ts'
import { serveApi } from './api/server.ts'
import { connectAprsIs } from './aprsis/link.ts'
import { type Clock, systemClock } from './clock.ts'
import type { Settings } from './config/settings.ts'
import { openBackups } from './housekeeping/backups.ts'
import { startHousekeeping } from './housekeeping/start.ts'
import type { Log } from './log.ts'
import { createAckSender } from './messages/ack-sender.ts'
import { createCoalescer } from './messages/coalescer.ts'
import { createReceiver } from './messages/receiver.ts'
import { createMetrics } from './metrics.ts'
import { createDispatcher } from './push/dispatcher.ts'
import { openGateways } from './push/open-gateways.ts'
import { createShutdown } from './shutdown.ts'
import { openStore } from './store/open-store.ts'

/** A sidecar at work. */
export interface Sidecar {
  /** Where the API is. */
  readonly url: string
  /** Where the operator's port is. */
  readonly adminUrl: string
  /** Has the API take up a renewed certificate; never rejects. */
  reloadTls(): Promise<void>
  /** Stops within 5 s, never rejects; twice is fine. What is not pushed by then is taken up at the next start. */
  close(): Promise<void>
}

/** How long each part may take to close, in milliseconds; together under 5 s, which service managers commonly allow. */
const CLOSE_WITHIN = {
  store: 1000,
  push: 2300,
  api: 800,
  upstream: 200,
  backups: 100,
  housekeeping: 100,
  admin: 200,
} as const

/**
 * Starts everything, and resolves once API and operator's port serve; APRS-IS may still be out of reach then. Rejects,
 * with nothing left open, when a part cannot start: the database, a push gateway's files, a port, the certificate.
 */
export async function startSidecar(settings: Settings, output: Log, clock: Clock = systemClock): Promise<Sidecar> {
  const recent = rememberEvents(output, clock)
  const { log } = recent
  const shutdown = createShutdown(clock, log)
  try {
    const metrics = createMetrics()
    const store = shutdown.add(
      'store',
      CLOSE_WITHIN.store,
      await openStore(settings.database, { history: settings.history, stations: settings.stations }, clock, log),
    )
    const { stations, history, housekeeping } = store

    const traffic = watchTraffic(clock)
    const gateways = openGateways(settings.push, log, clock)
    const dispatcher = createDispatcher({ gateways, stations, history, clock, log, metrics })
    const coalescer = createCoalescer({
      coalesceMs: settings.push.coalesceMs,
      clock,
      push: traffic.pushing(dispatcher.push),
    })
    shutdown.add('push', CLOSE_WITHIN.push, {
      // At once: the coalescer waits for pushes that only the dispatcher can cut short.
      close: async () => void (await Promise.all([coalescer.close(), dispatcher.close()])),
    })
    for (const key of await history.stationsWithUnpushed()) coalescer.notify(key)

    const { listen, rateLimit } = settings
    const api = shutdown.add('api', CLOSE_WITHIN.api, await serveApi({ listen, rateLimit, store, clock, metrics, log }))

    const send = (line: string) => link.send(line)
    const receive = createReceiver({
      stations,
      history,
      notify: coalescer.notify,
      acks: createAckSender({ send, settings: settings.ack, clock, metrics }),
      clock,
      metrics,
      log,
    })
    const link = shutdown.add(
      'upstream',
      CLOSE_WITHIN.upstream,
      connectAprsIs({
        settings: settings.aprsis,
        stations: () => stations.keys(),
        onLines: traffic.receiving(receive),
        clock,
        log,
        metrics,
      }),
    )
    stations.onChange(link.refilter)
    shutdown.add(
      'housekeeping',
      CLOSE_WITHIN.housekeeping,
      startHousekeeping({ housekeeping, settings: settings.stations, clock, metrics, log }),
    )

    const backups = shutdown.add(
      'backups',
      CLOSE_WITHIN.backups,
      await openBackups({
        store,
        settings: settings.backup,
        callsign: settings.aprsis.callsign,
        clock,
        metrics,
        log,
      }),
    )

    const admin = shutdown.add(
      'admin',
      CLOSE_WITHIN.admin,
      await openOperatorPort({
        settings,
        store,
        upstream: link.status,
        gateways: dispatcher.gateways,
        backups,
        certificateExpiresAt: api.certificateExpiresAt,
        traffic,
        recent,
        metrics,
        clock,
      }),
    )
    return { url: api.url, adminUrl: admin.url, reloadTls: api.reloadTls, close: shutdown.close }
  } catch (error) {
    await shutdown.close()
    throw error
  }
}
