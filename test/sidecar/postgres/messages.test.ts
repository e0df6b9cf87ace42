import { acksContract } from '../store/contract/acks.contract.ts'
import { duplicatesContract } from '../store/contract/duplicates.contract.ts'
import { historyContract } from '../store/contract/history.contract.ts'
import { postgresStores } from './postgres-stores.ts'

describe('The history in PostgreSQL', () => {
  describe('is one that', () => historyContract(postgresStores()))
  describe('knows duplicates, and', () => duplicatesContract(postgresStores()))
  describe('knows acks, which', () => acksContract(postgresStores()))
})
