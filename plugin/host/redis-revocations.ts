import { systemClock } from '../clock.ts'
import type { RevocationStore } from './revocation-store.ts'

/**
 * What is used of a client of `redis`, version 4 and later. For `ioredis`: `{ sendCommand: ([name, ...rest]) =>
 * client.call(name, ...rest) }`.
 */
export interface RedisClient {
  sendCommand(words: string[]): Promise<unknown>
}

export interface RedisRevocationsOptions {
  /** Before each key. Default `mesh-companion:`. */
  readonly prefix?: string
  readonly now?: () => number
}

/**
 * Keeps the later of both times; each key is written by a call of its own, since a cluster has them in different
 * places.
 */
const REVOKE = `
  local known = redis.call('GET', KEYS[1])
  local left = redis.call('PTTL', KEYS[1])
  local at = ARGV[1]
  if known and tonumber(known) > tonumber(at) then at = known end
  redis.call('SET', KEYS[1], at, 'PX', math.max(left, tonumber(ARGV[2])))
  return at`

/**
 * Revocations in Redis 6 or newer, for all processes of a server. They last as long as Redis keeps them: it has to
 * write them to its disk (`appendonly yes`) and must not throw keys away when its memory is full (`maxmemory-policy
 * noeviction`).
 */
export function redisRevocations(client: RedisClient, options: RedisRevocationsOptions = {}): RevocationStore {
  const { prefix = 'mesh-companion:', now = systemClock.now } = options
  const name = (kind: 'ended' | 'once', key: string) => `${prefix}${kind}:${key}`

  return {
    isShared: true,

    async revoke(keys, endedAt, until) {
      const left = String(Math.ceil(until - now()))
      if (Number(left) <= 0) return
      const at = String(Math.ceil(endedAt))
      await Promise.all(keys.map((key) => client.sendCommand(['EVAL', REVOKE, '1', name('ended', key), at, left])))
    },

    async endedAt(keys) {
      const found = await Promise.all(keys.map((key) => client.sendCommand(['GET', name('ended', key)])))
      const times = found.flatMap((at) => (at === null || at === undefined ? [] : Number(at)))
      return times.length === 0 ? undefined : Math.max(...times)
    },

    async once(key, until) {
      const left = Math.max(1, Math.ceil(until - now()))
      return (await client.sendCommand(['SET', name('once', key), '1', 'PX', String(left), 'NX'])) !== null
    },

    async release(key) {
      await client.sendCommand(['DEL', name('once', key)])
    },
  }
}
