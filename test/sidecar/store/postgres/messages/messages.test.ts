import { acksContract } from '../../contract/acks.contract.ts'
import { cursorsContract } from '../../contract/cursors.contract.ts'
import { duplicatesContract } from '../../contract/duplicates.contract.ts'
import { historyContract } from '../../contract/history.contract.ts'
import { serverTimeContract } from '../../contract/server-time.contract.ts'
import { postgresStores } from '../postgres-stores.ts'

/** Runs of each property: every run recreates a database. */
const RUNS = 4

describe('The history in PostgreSQL', () => {
  describe('is one that', () => historyContract(postgresStores()))
  describe('knows duplicates, and', () => duplicatesContract(postgresStores(), RUNS))
  describe('knows acks, which', () => acksContract(postgresStores()))
  describe('has a server time, which', () => serverTimeContract(postgresStores()))
  describe('has cursors: the server time', () => cursorsContract(postgresStores(), { runs: RUNS, instances: 2 }))
})
