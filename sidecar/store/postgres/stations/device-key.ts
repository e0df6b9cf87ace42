import type { DeviceId, StationKey } from '../../../messages/store.ts'

/** What a device is called among all: `CALL-SSID` or `CALL-SSID id`. Neither has blanks. */
export function deviceKey(station: StationKey, id: DeviceId): string {
  return id === '' ? station : `${station} ${id}`
}
