import { systemClock } from '../clock.ts'
import type { RevocationStore } from './revocation-store.ts'

/**
 * The only method that the plugin calls, from `redis` 4 or later. For `ioredis`: `{ sendCommand: ([name, ...rest]) =>
 * client.call(name, ...rest) }`.
 */
export interface RedisClient {
  sendCommand(words: string[]): Promise<unknown>
}

export interface RedisRevocationsOptions {
  /** Prefix of each key. Default `mesh-companion:`. */
  readonly prefix?: string
  readonly now?: () => number
}

/**
 * Stores the later of the stored and the new time. Runs for each key, because a cluster spreads keys over its nodes.
 */
const REVOKE = `
  local stored = redis.call('GET', KEYS[1])
  local remainingTtl = redis.call('PTTL', KEYS[1])
  local revokedAt = ARGV[1]
  if stored and tonumber(stored) > tonumber(revokedAt) then revokedAt = stored end
  redis.call('SET', KEYS[1], revokedAt, 'PX', math.max(remainingTtl, tonumber(ARGV[2])))
  return revokedAt`

/**
 * Keeps revocations in Redis 6 or newer, for all processes. A lost one makes its session valid again. So use
 * `appendonly yes` and `maxmemory-policy noeviction`.
 */
export function redisRevocations(client: RedisClient, options: RedisRevocationsOptions = {}): RevocationStore {
  const { prefix = 'mesh-companion:', now = systemClock.now } = options
  const name = (kind: 'ended' | 'once', key: string) => `${prefix}${kind}:${key}`

  return {
    isShared: true,

    async revoke(keys, endedAt, until) {
      const leftMs = String(Math.ceil(until - now()))
      if (Number(leftMs) <= 0) return
      const time = String(Math.ceil(endedAt))
      await Promise.all(keys.map((key) => client.sendCommand(['EVAL', REVOKE, '1', name('ended', key), time, leftMs])))
    },

    async endedAt(keys) {
      const values = await Promise.all(keys.map((key) => client.sendCommand(['GET', name('ended', key)])))
      const times = values.flatMap((value) => (value === null || value === undefined ? [] : Number(value)))
      return times.length === 0 ? undefined : Math.max(...times)
    },

    async once(key, until) {
      const leftMs = Math.max(1, Math.ceil(until - now()))
      return (await client.sendCommand(['SET', name('once', key), '1', 'PX', String(leftMs), 'NX'])) !== null
    },

    async release(key) {
      await client.sendCommand(['DEL', name('once', key)])
    },
  }
}
