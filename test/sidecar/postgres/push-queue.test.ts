import { describePushQueue } from '../store/contract/push-queue.contract.ts'
import { postgresStores } from './postgres-stores.ts'

describe('The push queue in PostgreSQL', () => {
  const stores = postgresStores()
  describePushQueue({ open: stores.open, advance: stores.shift, leasesEnd: true, runs: 20 })
})
