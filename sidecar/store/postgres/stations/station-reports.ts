import type {
  DeviceReport,
  MessageReport,
  StationReports,
  StationSummary,
} from '../../../messages/reports/station-reports.ts'
import { deviceOf, parseDeviceKey } from '../../../messages/station.ts'
import type { Stations } from '../../../messages/store.ts'
import { readSql } from '../../read-sql.ts'
import type { Postgres } from '../database/connection.ts'

const LIST_STATIONS = readSql(new URL('./list-stations.sql', import.meta.url))
const REPORT_STATION = readSql(new URL('./report-station.sql', import.meta.url))

interface StationRow {
  readonly avatarHash: string
  /** Null only if the station has no devices because it is being removed. */
  readonly devices: readonly (DeviceReport & { readonly key: string })[] | null
  /**
   * Null if there are no messages. `to` is empty if the addressee is the station, and not another SSID of its callsign.
   */
  readonly messages: readonly MessageReport[] | null
}

interface ReportsParts {
  readonly database: Pick<Postgres, 'read'>
  readonly stations: Pick<Stations, 'get'>
}

/**
 * Opens the station reports from the shared tables. An unwritten heartbeat is only in one instance's memory, so the
 * later of the two times is reported.
 */
export function openReports({ database, stations }: ReportsParts): StationReports {
  return {
    async list(afterKey, limit) {
      const rows = await database.read<StationSummary>(LIST_STATIONS, [afterKey, limit])
      return rows.map((row) => {
        const heartbeats = (stations.get(row.station)?.devices ?? []).map((device) => device.lastSeenAt)
        return { ...row, lastSeenAt: Math.max(row.lastSeenAt, ...heartbeats) }
      })
    },
    async get(station) {
      const [row] = await database.read<StationRow>(REPORT_STATION, [station])
      if (!row?.devices) return undefined
      const copy = stations.get(station)
      return {
        station,
        avatarHash: row.avatarHash,
        devices: row.devices.map(({ key, ...device }) => {
          const [, id] = parseDeviceKey(key)
          return { ...device, lastSeenAt: Math.max(device.lastSeenAt, deviceOf(copy, id)?.lastSeenAt ?? 0) }
        }),
        messages: (row.messages ?? []).map(({ from, to, seqId, time, ackedAt }) => ({
          from: textIn(from),
          to: to || station,
          seqId: textIn(seqId),
          time,
          ackedAt,
        })),
      }
    },
  }
}

function textIn(hex: string): string {
  return Buffer.from(hex, 'hex').toString()
}
