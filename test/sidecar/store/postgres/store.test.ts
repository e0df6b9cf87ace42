import { deviceOptionsContract } from '../contract/device-options.contract.ts'
import { devicesContract } from '../contract/devices.contract.ts'
import { housekeepingContract } from '../contract/housekeeping.contract.ts'
import { leasesContract } from '../contract/leases.contract.ts'
import { reportsContract } from '../contract/reports.contract.ts'
import { stationsContract } from '../contract/stations.contract.ts'
import { postgresStores } from './postgres-stores.ts'

describe('The store in PostgreSQL', () => {
  describe('The registry of stations', () => stationsContract(postgresStores()))
  describe('The devices of a station', () => devicesContract(postgresStores()))
  describe('The options of devices', () => deviceOptionsContract(postgresStores()))
  describe('The housekeeping of the store', () => housekeepingContract(postgresStores()))
  describe('The leases of a single instance', () => leasesContract(postgresStores()))
  describe('The reports to the operator', () => reportsContract(postgresStores()))
})
