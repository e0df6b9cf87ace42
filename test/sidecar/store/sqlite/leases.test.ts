import { leasesContract } from '../contract/leases.contract.ts'
import { temporaryStores } from './temporary-stores.ts'

describe('The leases of a single instance', () => leasesContract(temporaryStores()))
