import { devicesContract } from '../../contract/devices.contract.ts'
import { temporaryStores } from '../temporary-stores.ts'

describe('Several devices of a station', () => devicesContract(temporaryStores()))
