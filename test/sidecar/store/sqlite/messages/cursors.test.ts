import { cursorsContract } from '../../contract/cursors.contract.ts'
import { temporaryStores } from '../temporary-stores.ts'

describe('The server time of an answer without messages', () => cursorsContract(temporaryStores()))
