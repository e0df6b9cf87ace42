import type { SeenStation } from '../../../messages/station-record.ts'
import type { Device, DeviceFilter, RemoveOutcome, StationKey } from '../../../messages/store.ts'
import { eachInTurn, type Transaction, type Write } from '../database/database.ts'
import { markTokensDead } from './dead-tokens.ts'
import type { RingIndex } from './ring-index.ts'
import type { StationMemory } from './station-memory.ts'

export const REMOVE_STATION = 'DELETE FROM station WHERE key = ?'
export const REMOVE_DEVICES = 'DELETE FROM device WHERE station = ? AND id IN (SELECT value FROM json_each(?))'

const HAS_FIRST_TOKEN = 'SELECT first_token IS NULL AS yes FROM device WHERE station = ? AND id = ?'

/** Selects the devices to remove from a station. */
export interface Removal extends DeviceFilter {
  readonly key: StationKey
}

/** Creates the write that removes devices. If it removes the last device, it also removes the station. */
export function removalWrite(memory: StationMemory, rings: Pick<RingIndex, 'discard'>): Write<Removal, RemoveOutcome> {
  return {
    async run(tx, inputs) {
      const outcomes = await eachInTurn(inputs, (removal) => removeOne(tx, memory, removal))
      const removed = inputs.filter((_, index) => outcomes[index] === 'station').map(({ key }) => key)
      await rings.discard(tx, removed)
      return outcomes
    },
  }
}

async function removeOne(tx: Transaction, memory: StationMemory, removal: Removal): Promise<RemoveOutcome> {
  const { key, deviceId, pushToken, seenBeforeMs = Number.POSITIVE_INFINITY } = removal
  const station = memory.current(key)
  const isMeant = ({ id, lastSeenAt }: Device) => (deviceId ?? id) === id && lastSeenAt < seenBeforeMs
  const meant = station?.devices.filter(isMeant) ?? []
  const [first] = meant
  if (!station || !first) return 'none'
  if (pushToken !== undefined) {
    if (first.pushToken !== pushToken) return 'wrong_token'
    if (!(await hasFirstToken(tx, key, first))) return silence(tx, memory, station, first)
  }
  const remaining = station.devices.filter((device) => !meant.includes(device))
  if (remaining.length > 0) await tx.all(REMOVE_DEVICES, key, JSON.stringify(meant.map(({ id }) => id)))
  else await tx.all(REMOVE_STATION, key)
  memory.change(tx, key, remaining.length > 0 ? { ...station, devices: remaining } : undefined)
  return remaining.length > 0 ? 'devices' : 'station'
}

/** Returns whether the push token of the device has never changed. */
async function hasFirstToken(tx: Transaction, key: StationKey, device: Device): Promise<boolean> {
  const [row] = await tx.all<{ yes: number }>(HAS_FIRST_TOKEN, key, device.id)
  return row?.yes === 1
}

async function silence(
  tx: Transaction,
  memory: StationMemory,
  station: SeenStation,
  device: Device,
): Promise<RemoveOutcome> {
  const devices = await markTokensDead(tx, memory, station.key, station.devices, ({ id }) => id === device.id)
  memory.change(tx, station.key, { ...station, devices })
  return 'silenced'
}
