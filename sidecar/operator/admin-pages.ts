import { parseBody } from '../api/requests/body.ts'
import { parseStationKey } from '../aprs/station.ts'
import { type Clock, within } from '../clock.ts'
import type { Log } from '../log.ts'
import type { StationKey } from '../messages/store.ts'
import type { Metrics } from '../metrics.ts'
import { htmlPage, jsonPage, type Page } from './answer-page.ts'
import type { BackupOutcome } from './housekeeping/backups.ts'
import type { POLICY } from './page/style.ts'
import type { StationAnswers } from './station-answers.ts'

export interface PageParts {
  /** Rejects only if the process can no longer do its work and a restart may help. */
  readonly checkAlive: () => Promise<unknown>
  /** Rejects if the sidecar cannot answer a phone's request for messages. */
  readonly checkReads: () => Promise<unknown>
  /** Returns the codes of the reasons why the sidecar does not fully work; empty if it does. The codes never change. */
  readonly obstacles: () => Promise<readonly string[]>
  /**
   * Returns the HTML of the status page, which must comply with {@link POLICY}. `refresh`: whether it reloads itself.
   */
  readonly statusPage: (refresh: boolean) => Promise<string>
  readonly stations: StationAnswers
  readonly metrics: Pick<Metrics, 'expose'>
  readonly clock: Clock
  readonly log: Log
}

/**
 * Time limit of {@link PageParts.checkAlive} in milliseconds. It is short, because probes usually wait only a few
 * seconds.
 */
const ALIVE_WITHIN_MS = 2000
/**
 * Time limit of {@link PageParts.checkReads} in milliseconds. It is short, so that a load balancer learns within 3 s
 * that it must use another instance.
 */
const READS_WITHIN_MS = 2500

/**
 * Answers a GET request. `call`: the callsign in the path, for pages at a path that ends with `/CALL`; otherwise empty.
 */
export type GetPage = (query: URLSearchParams, call: string) => Promise<Page>

/** Returns the handlers of GET requests, by path. */
export function pagesOf(parts: PageParts): ReadonlyMap<string, GetPage> {
  const { statusPage, stations, obstacles, metrics } = parts
  return new Map<string, GetPage>([
    ['/', async (query) => htmlPage(await statusPage(query.get('refresh') !== 'off'))],
    ['/healthz', () => healthPage(parts)],
    [
      '/readyz',
      async () => {
        const reasons = await obstacles()
        return reasons.length === 0 ? jsonPage(200, { status: 'ready' }) : notReadyPage(reasons)
      },
    ],
    ['/readyz/api', () => apiReadyPage(parts)],
    ['/stations', (query) => stations.list(query)],
    ['/stations/CALL', (_query, call) => stations.station(call)],
    ['/view', (query) => stations.viewList(query)],
    ['/view/CALL', (_query, call) => stations.viewStation(call)],
    [
      '/metrics',
      async () => {
        const { contentType, text } = await metrics.expose()
        return { status: 200, contentType, body: text }
      },
    ],
  ])
}

export interface CommandParts {
  readonly backUp: () => Promise<BackupOutcome>
  /** Removes a station with all its devices. Returns false if there is no such station. */
  readonly unregister: (station: StationKey) => Promise<boolean>
  readonly stations: StationAnswers
}

/** Returns the handlers of POST requests, by path. Each gets the body. */
export function commandsOf({
  backUp,
  unregister,
  stations,
}: CommandParts): ReadonlyMap<string, (body: Buffer) => Promise<Page>> {
  return new Map<string, (body: Buffer) => Promise<Page>>([
    ['/backup', async () => backupPage(await backUp())],
    ['/notify', (body) => stations.notify(body)],
    [
      '/unregister',
      async (body) => {
        const station = stationIn(body)
        if (station === undefined)
          return jsonPage(400, { error: 'invalid_request', message: 'The body must be { "station": "CALL-SSID" }.' })
        if (!(await unregister(station)))
          return jsonPage(404, { error: 'not_registered', message: 'There is no such station.' })
        return jsonPage(200, { station })
      },
    ],
  ])
}

async function healthPage({ checkAlive, clock, log }: PageParts): Promise<Page> {
  try {
    await within(ALIVE_WITHIN_MS, checkAlive(), clock)
    return jsonPage(200, { status: 'ok' })
  } catch (error) {
    log.error('unhealthy', 'The database does not answer.', { error })
    return jsonPage(503, { status: 'failing', reasons: ['database_unavailable'] })
  }
}

async function apiReadyPage({ checkReads, clock }: PageParts): Promise<Page> {
  try {
    await within(READS_WITHIN_MS, checkReads(), clock)
    return jsonPage(200, { status: 'ready' })
  } catch {
    return notReadyPage(['messages_not_read'])
  }
}

function notReadyPage(reasons: readonly string[]): Page {
  return jsonPage(503, { status: 'not_ready', reasons })
}

/** Returns the station that a JSON body names; undefined if the body names no valid station. */
function stationIn(body: Buffer): StationKey | undefined {
  try {
    const { station } = Object(parseBody(body))
    return typeof station === 'string' ? parseStationKey(station) : undefined
  } catch {
    return undefined
  }
}

function backupPage(outcome: BackupOutcome): Page {
  switch (outcome.kind) {
    case 'made':
      return jsonPage(200, { file: outcome.file, bytes: outcome.bytes })
    case 'off':
      return jsonPage(409, { error: 'backup_off', message: 'Backups are off. Set backup.folder to a folder.' })
    case 'busy':
      return jsonPage(409, { error: 'backup_busy', message: 'A backup is running. Try again when it is done.' })
    case 'failed':
      return jsonPage(500, { error: 'backup_failed', message: outcome.message, code: outcome.code })
  }
}
