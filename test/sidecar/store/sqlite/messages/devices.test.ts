import { deviceOptionsContract } from '../../contract/device-options.contract.ts'
import { devicesContract } from '../../contract/devices.contract.ts'
import { temporaryStores } from '../temporary-stores.ts'

describe('Options of devices', () => deviceOptionsContract(temporaryStores()))
describe('Several devices of a station', () => devicesContract(temporaryStores()))
