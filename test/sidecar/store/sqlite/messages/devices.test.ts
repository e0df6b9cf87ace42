import { deviceOptionsContract } from '../../contract/device-options.contract.ts'
import { devicesContract } from '../../contract/devices.contract.ts'
import { optionCursorsContract } from '../../contract/option-cursors.contract.ts'
import { temporaryStores } from '../temporary-stores.ts'

describe('Options of devices', () => deviceOptionsContract(temporaryStores()))
describe('Several devices of a station', () => devicesContract(temporaryStores()))
describe('The sync cursors of devices while their options change', () =>
  optionCursorsContract(temporaryStores(), { runs: 40 }))
