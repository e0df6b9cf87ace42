import { pushQueueContract } from '../store/contract/push-queue.contract.ts'
import { postgresStores } from './postgres-stores.ts'

describe('The push queue in PostgreSQL', () => pushQueueContract(postgresStores(), { leasesEnd: true, runs: 20 }))
