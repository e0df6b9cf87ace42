import { memoryRevocations } from '../../../plugin/host/revocations.ts'
import { revocationStoreContract } from './revocation-store.contract.ts'

describe('Revocations in memory', () => {
  const store = memoryRevocations()
  revocationStoreContract(() => store)
})
