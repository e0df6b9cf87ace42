import { randomUUID } from 'node:crypto'
import connectPgSimple from 'connect-pg-simple'
import { RedisStore } from 'connect-redis'
import session, { type Store } from 'express-session'
import pg from 'pg'
import { createClient } from 'redis'
import { pgRevocations, type RevocationStore, redisRevocations } from '../../../plugin/index.ts'

/** State that several processes of a server share. */
export interface SharedStores {
  readonly sessions: Store
  readonly revocations: RevocationStore
  close(): Promise<void>
}

/** @param address of PostgreSQL or Redis */
export async function openStores(address: string, name: string = randomUUID()): Promise<SharedStores> {
  return new URL(address).protocol === 'redis:' ? overRedis(address, name) : overPostgres(address, name)
}

async function overPostgres(address: string, name: string): Promise<SharedStores> {
  const pool = new pg.Pool({ connectionString: address, max: 4 })
  // The server may be gone before the last of its connections.
  pool.on('connect', (client) => client.on('error', () => undefined))
  pool.on('error', () => undefined)
  const PgStore = connectPgSimple(session)
  const sessions = new PgStore({ pool, createTableIfMissing: true, pruneSessionInterval: false })
  return {
    sessions,
    revocations: pgRevocations(pool, { table: `revocation_${name}` }),
    close: () => pool.end(),
  }
}

async function overRedis(address: string, name: string): Promise<SharedStores> {
  const client = createClient({ url: address })
  // The client connects again by itself. Callers limit their own waits.
  client.on('error', () => undefined)
  await client.connect()
  return {
    sessions: new RedisStore({ client, prefix: `session:${name}:` }),
    revocations: redisRevocations(client, { prefix: `${name}:` }),
    close: async () => {
      await client.close()
    },
  }
}
