import type { AvatarStore } from './app-store.ts'
import { ClientError } from './client-error.ts'
import { pushedAvatar } from './push-data.ts'
import type { AvatarRecord } from './wire/bodies.ts'
import type { PushPayload } from './wire/push-payload.ts'

/** Limit of stations in a request to `/v1/avatars`. Source: section Limits of the specification. */
const MAX_PER_REQUEST = 50
/**
 * Limit of avatars that wait to be fetched. One answer has far fewer senders. Beyond the limit, the oldest are dropped
 * until an answer advertises them again.
 */
const MAX_WANTED = 500

/** Keeps other stations' avatars up to date with few requests. */
export interface AvatarBook {
  /** Stores the sender's avatar if the push contains it. */
  pushed(push: PushPayload): Promise<void>
  /**
   * Fetches each avatar with an advertised hash that differs from the stored one. If a request fails, the next call
   * fetches its avatars.
   */
  advertised(hashes: Readonly<Record<string, string>>): Promise<void>
}

/** @param fetchAvatars returns the avatars of up to 50 stations; a station that has no avatar is absent */
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
      const storedHash = await store.hashOf(push.fromCall)
      if (avatar === 'cleared') {
        if (storedHash !== undefined) await store.put(push.fromCall, undefined)
      } else if (avatar.hash !== storedHash) await store.put(push.fromCall, avatar)
    },

    async advertised(hashes) {
      await note(hashes)
      while (wanted.size > 0) {
        const stations = [...wanted].slice(0, MAX_PER_REQUEST)
        try {
          const fetched = await fetchAvatars(stations)
          for (const station of stations) {
            const avatar = fetched[station]
            if (avatar) await store.put(station, avatar)
            wanted.delete(station)
          }
        } catch (error) {
          // A failed request for avatars must not fail the delivery of messages.
          if (error instanceof ClientError) return
          throw error
        }
      }
    },
  }
}
