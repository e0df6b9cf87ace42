import type { SeenDevice } from '../../../messages/station-record.ts'
import type { Device, Registration, StationKey } from '../../../messages/store.ts'
import { eachInTurn, type Transaction, type Write } from '../database/database.ts'
import type { StationMemory } from './station-memory.ts'

const MARK_TOKEN_DEAD = 'UPDATE device SET token_dead = 1 WHERE station = ? AND id = ?'

/** Marks push tokens as dead: those of the `devices` that `isMeant` selects. Returns all devices, with the marks. */
export function markTokensDead(
  tx: Transaction,
  memory: StationMemory,
  key: StationKey,
  devices: readonly SeenDevice[],
  isMeant: (device: Device) => boolean,
): Promise<readonly SeenDevice[]> {
  return eachInTurn(devices, async (device) => {
    if (device.tokenDead || !isMeant(device)) return device
    await tx.all(MARK_TOKEN_DEAD, key, device.id)
    const dead = { ...device, tokenDead: true }
    memory.setLastSeenInFile(dead, memory.lastSeenInFile(device))
    return dead
  })
}

/** Creates the write that marks a push token as dead, provided that the device still has that token. */
export function tokenDeathWrite(
  memory: StationMemory,
): Write<Pick<Registration, 'key' | 'deviceId' | 'pushToken'>, void> {
  return {
    run: (tx, inputs) =>
      eachInTurn(inputs, async ({ key, deviceId, pushToken }) => {
        const station = memory.current(key)
        if (!station) return
        const isMeant = (device: Device) => device.id === deviceId && device.pushToken === pushToken
        const devices = await markTokensDead(tx, memory, key, station.devices, isMeant)
        memory.change(tx, key, { ...station, devices })
      }),
  }
}
