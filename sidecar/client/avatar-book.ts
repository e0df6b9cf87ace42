import type { AvatarStore } from './app-store.ts'
import { ClientError } from './client-error.ts'
import { pushedAvatar } from './push-data.ts'
import type { AvatarRecord } from './wire/bodies.ts'
import type { PushPayload } from './wire/push-payload.ts'

/** Source: Limits, stations per `/v1/avatars` request. */
const MAX_PER_CALL = 50
/** Far more than the senders of one answer; the oldest are forgotten until they are advertised again. */
const MAX_WANTED = 500

/** Keeps the avatars of others up to date with as few requests as can be. */
export interface AvatarBook {
  /** Takes what a push says of its sender's avatar. */
  pushed(push: PushPayload): Promise<void>
  /**
   * Fetches those whose advertised hash is not that of the copy here. What cannot be had now is asked for the next
   * time.
   */
  advertised(hashes: Readonly<Record<string, string>>): Promise<void>
}

/** `fetchAvatars`: those of up to 50 stations that have one. */
export function createAvatarBook(
  store: AvatarStore,
  fetchAvatars: (stations: readonly string[]) => Promise<Readonly<Record<string, AvatarRecord>>>,
): AvatarBook {
  const wanted = new Set<string>()

  async function note(hashes: Readonly<Record<string, string>>): Promise<void> {
    for (const [station, hash] of Object.entries(hashes)) {
      wanted.delete(station)
      if ((await store.hashOf(station)) !== hash) wanted.add(station)
    }
    for (const station of wanted) {
      if (wanted.size <= MAX_WANTED) return
      wanted.delete(station)
    }
  }

  return {
    async pushed(push) {
      const avatar = pushedAvatar(push)
      if (avatar === 'unknown') return
      const before = await store.hashOf(push.fromCall)
      if (avatar === 'cleared') {
        if (before !== undefined) await store.put(push.fromCall, undefined)
      } else if (avatar.hash !== before) await store.put(push.fromCall, avatar)
    },

    async advertised(hashes) {
      await note(hashes)
      while (wanted.size > 0) {
        const stations = [...wanted].slice(0, MAX_PER_CALL)
        try {
          const found = await fetchAvatars(stations)
          for (const station of stations) {
            const avatar = found[station]
            if (avatar) await store.put(station, avatar)
            wanted.delete(station)
          }
        } catch (error) {
          // Messages do not depend on pictures.
          if (error instanceof ClientError) return
          throw error
        }
      }
    },
  }
}
