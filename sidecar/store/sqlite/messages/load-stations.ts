import { type SeenStation, type StationRecord, stationFrom } from '../../../messages/station-record.ts'
import type { Device } from '../../../messages/store.ts'
import type { Queries } from '../database/connection.ts'

const LOAD = `
  SELECT key, station.registered_at AS stationSince, icon, hash, updated_at AS updatedAt,
    id, platform, push_token AS pushToken, token_dead AS tokenDead, ack_messages AS ackMessages, blocked,
    want_acks AS wantAcks, any_ssid AS anySsid,
    device.registered_at AS registeredAt, last_seen_at AS lastSeenAt
  FROM station JOIN device ON device.station = key LEFT JOIN avatar ON avatar.station = key
  ORDER BY key, device.registered_at`

/** The columns of a device with values that JavaScript represents by other types. */
export interface DeviceColumns {
  readonly tokenDead: number
  readonly ackMessages: number
  readonly blocked: string
  readonly wantAcks: number
  readonly anySsid: number
}

interface StationRow
  extends Omit<StationRecord, 'registeredAt' | 'devices'>,
    Omit<Device, 'tokenDead' | 'ackMessages' | 'options'>,
    DeviceColumns {
  readonly stationSince: number
}

/** Converts the row of a device to an object. */
export function deviceFrom<Row extends DeviceColumns>({
  tokenDead,
  ackMessages,
  blocked,
  wantAcks,
  anySsid,
  ...device
}: Row) {
  return {
    ...device,
    tokenDead: tokenDead === 1,
    ackMessages: ackMessages === 1,
    options: {
      anySsid: anySsid === 1,
      blocked: blocked === '' ? [] : blocked.split(' '),
      wantAcks: wantAcks === 1,
    },
  }
}

/**
 * Reads all stations with their devices. A device's later heartbeats change `lastSeenAt` in the returned object of that
 * device.
 */
export async function loadStations(queries: Queries): Promise<readonly SeenStation[]> {
  const records: (StationRecord & { readonly devices: Device[] })[] = []
  for (const row of await queries.all<StationRow>(LOAD)) {
    const { key, stationSince, icon, hash, updatedAt, ...device } = row
    if (records.at(-1)?.key !== key)
      records.push({ key, registeredAt: stationSince, devices: [], icon, hash, updatedAt })
    records.at(-1)?.devices.push(deviceFrom(device))
  }
  return records.map(stationFrom)
}
