import { devicesContract } from '../contract/devices.contract.ts'
import { housekeepingContract } from '../contract/housekeeping.contract.ts'
import { leasesContract } from '../contract/leases.contract.ts'
import { stationsContract } from '../contract/stations.contract.ts'
import { postgresStores } from './postgres-stores.ts'

describe('The store in PostgreSQL', () => {
  describe('keeps a registry, which', () => stationsContract(postgresStores()))
  describe('keeps the devices of a station apart: it', () => devicesContract(postgresStores()))
  describe('keeps itself in order, and', () => housekeepingContract(postgresStores()))
  describe('keeps leases, which', () => leasesContract(postgresStores()))
})
