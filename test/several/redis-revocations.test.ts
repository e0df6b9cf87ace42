import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { createClient } from 'redis'
import { redisRevocations } from '../../plugin/host/redis-revocations.ts'
import { sharedStoreContract } from '../plugin/host/revocation-store.contract.ts'
import { type Redis, startRedis } from './support/redis.ts'

const connect = (url: string) => createClient({ url }).connect()

describe('Session revocations in Redis', () => {
  let redis: Redis
  let client: Awaited<ReturnType<typeof connect>>

  before(async function () {
    this.timeout(120_000)
    const started = await startRedis()
    if (typeof started === 'string') {
      process.stdout.write(`  left out: ${started}\n`)
      this.skip()
    }
    redis = started
    client = await connect(redis.address)
  })
  after(async () => {
    await client?.close()
    await redis?.stop()
  })

  const open = (prefix?: string) => redisRevocations(client, prefix === undefined ? {} : { prefix })

  sharedStoreContract(() => open())

  it('a revocation stored twice expires in Redis at the later of the two expiry times', async () => {
    const [key, prefix] = [randomUUID(), `${randomUUID()}:`]
    const now = Date.now()
    await open(prefix).revoke([key], now, now + 60_000)
    await open(prefix).revoke([key], now - 1, now + 1_000)
    const [remainingMs] = await Promise.all((await client.keys(`${prefix}*`)).map((name) => client.pTTL(name)))
    expect(remainingMs).to.be.within(30_000, 60_000)
  })

  it('does not write an already expired revocation to Redis', async () => {
    const [key, prefix] = [randomUUID(), `${randomUUID()}:`]
    await open(prefix).revoke([key], Date.now(), Date.now() - 1)
    expect(await client.keys(`${prefix}*`)).to.deep.equal([])
  })
})
