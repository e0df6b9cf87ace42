import { leasesContract } from '../contract/leases.contract.ts'
import { temporaryStores } from './temporary-stores.ts'

describe('Leases of the only process', () => leasesContract(temporaryStores()))
