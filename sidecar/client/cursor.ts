import type { AppStore, ClientState } from './app-store.ts'
import { createDeviceId } from './device-id.ts'
import type { MessageRecord, Stamped } from './wire/bodies.ts'

/** An answer that may have messages. */
interface News extends Stamped {
  readonly messages?: readonly MessageRecord[]
}

/** The stored state. Its cursor moves only by answers to requests for messages. */
export interface Cursor {
  readonly state: ClientState
  /**
   * Returns this phone's id at the sidecar. It is stored before it is first sent, because a lost answer or a crash
   * would otherwise leave an orphaned device at the sidecar.
   */
  deviceId(): Promise<string>
  /** Requests messages; the cursor moves once they are stored. */
  take<Answer extends News>(ask: (since: number) => Promise<Answer>): Promise<Answer>
  /** Stores which avatar the server has for the station; undefined if the server has forgotten the station. */
  confirm(avatarHash: string | undefined): Promise<void>
}

/** @param random as in `Math.random` */
export function createCursor(store: AppStore, loaded: ClientState, random: () => number): Cursor {
  let state = loaded

  async function save(next: ClientState, messages: readonly MessageRecord[]): Promise<void> {
    await store.save(next, messages)
    state = next
  }

  async function unheard(messages: readonly MessageRecord[]): Promise<readonly MessageRecord[]> {
    const fresh: MessageRecord[] = []
    for (const message of messages) if (!(await store.heard?.(message))) fresh.push(message)
    return fresh
  }

  return {
    get state() {
      return state
    },

    async deviceId() {
      const deviceId = state.deviceId ?? createDeviceId(random)
      if (state.deviceId === undefined) await save({ ...state, deviceId }, [])
      return deviceId
    },

    async take(ask) {
      const first = await ask(state.cursor)
      // An older server time means that the server started over with an empty database and a slower clock, so all of
      // its messages are new.
      const answer = first.serverTime < state.cursor ? await ask(0) : first
      await save({ ...state, cursor: answer.serverTime }, await unheard(answer.messages ?? []))
      return answer
    },

    async confirm(avatarHash) {
      if (avatarHash === state.avatarHash) return
      const { avatarHash: _, ...rest } = state
      await save({ ...rest, ...(avatarHash !== undefined && { avatarHash }) }, [])
    },
  }
}
