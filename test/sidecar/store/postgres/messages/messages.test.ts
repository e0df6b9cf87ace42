import { acksContract } from '../../contract/acks.contract.ts'
import { cursorsContract } from '../../contract/cursors.contract.ts'
import { duplicatesContract } from '../../contract/duplicates.contract.ts'
import { historyContract } from '../../contract/history.contract.ts'
import { optionCursorsContract } from '../../contract/option-cursors.contract.ts'
import { serverTimeContract } from '../../contract/server-time.contract.ts'
import { postgresStores } from '../postgres-stores.ts'

/** Runs of each property: every run recreates a database. */
const RUNS = 4

describe('The history in PostgreSQL', () => {
  describe('The history of messages', () => historyContract(postgresStores()))
  describe('The duplicates in the history', () => duplicatesContract(postgresStores(), RUNS))
  describe('The acks of the store', () => acksContract(postgresStores()))
  describe('The stamps of the store', () => serverTimeContract(postgresStores()))
  describe('The cursors of the store', () => cursorsContract(postgresStores(), { runs: RUNS, instances: 2 }))
  describe('The sync cursors of devices while their options change', () => {
    optionCursorsContract(postgresStores(), { runs: RUNS, instances: 2 })
  })
})
