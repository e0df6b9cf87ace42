import type { MessageReport, StationReports } from '../../messages/reports/station-reports.ts'
import type { DeviceId, StationKey, Stations } from '../../messages/store.ts'
import type { Database } from './database/database.ts'
import { type PushResultColumns, pushResultFrom } from './messages/push-marks.ts'
import type { MemoryPushQueue } from './messages/push-queue.ts'
import type { RingIndex } from './messages/ring-index.ts'

const PAGE = 'SELECT key FROM station WHERE key > ? ORDER BY key LIMIT ?'

const RESULTS = `
  SELECT id, last_push_at AS lastPushAt, last_push_outcome AS lastPushOutcome, last_push_reason AS lastPushReason
  FROM device WHERE station = ?`

const MESSAGES = `
  SELECT source AS "from", coalesce(addressee, station) AS "to", seq_id AS seqId, time, acked_at AS ackedAt FROM message
  WHERE time IN (SELECT value FROM json_each(?)) ORDER BY time DESC`

interface ReportsParts {
  readonly database: Pick<Database, 'readBehind'>
  readonly stations: Pick<Stations, 'get'>
  readonly rings: Pick<RingIndex, 'newer'>
  readonly pushes: Pick<MemoryPushQueue, 'isPending' | 'lastResult'>
}

/** Opens the station reports. Pages come from the file, because sorting all stations in memory would delay messages. */
export function openReports({ database, stations, rings, pushes }: ReportsParts): StationReports {
  const pendingOf = (station: StationKey, id: DeviceId) => (pushes.isPending(station, id) ? 1 : 0)
  return {
    async list(afterKey, limit) {
      const rows = await database.readBehind((reading) => reading.all<{ key: StationKey }>(PAGE, afterKey, limit))
      return rows.flatMap(({ key }) => {
        const devices = stations.get(key)?.devices ?? []
        if (devices.length === 0) return []
        const lastSeenAt = Math.max(...devices.map((device) => device.lastSeenAt))
        const pending = devices.reduce((sum, { id }) => sum + pendingOf(key, id), 0)
        return [{ station: key, devices: devices.length, lastSeenAt, pending }]
      })
    },
    get: (key) =>
      database.readBehind(async (reading) => {
        const station = stations.get(key)
        if (!station) return undefined
        const stamps = JSON.stringify(rings.newer(key, 0))
        const results = await reading.all<PushResultColumns & { readonly id: DeviceId }>(RESULTS, key)
        const inFile = new Map(results.map((row) => [row.id, pushResultFrom(row)]))
        return {
          station: key,
          avatarHash: station.avatar.state === 'set' ? station.avatar.hash : '',
          devices: station.devices.map(({ id, options: _, ...device }) => ({
            ...device,
            pending: pendingOf(key, id),
            lastPush: pushes.lastResult(key, id) ?? inFile.get(id) ?? null,
          })),
          messages: await reading.all<MessageReport>(MESSAGES, stamps),
        }
      }),
  }
}
