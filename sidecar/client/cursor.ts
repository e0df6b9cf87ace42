import type { AppStore, ClientState } from './app-store.ts'
import { createDeviceId } from './device-id.ts'
import type { MessageRecord, Stamped } from './wire/bodies.ts'

/** An answer that brings messages, or may have. */
interface News extends Stamped {
  readonly messages?: readonly MessageRecord[]
}

/** The state that the app keeps, and when its cursor moves: only by answers to who asked for messages. */
export interface Cursor {
  readonly state: ClientState
  /**
   * Which phone this is to the sidecar. Kept before it is first sent: else a lost answer, or a crash, would leave a
   * device that nobody is.
   */
  deviceId(): Promise<string>
  /** Asks for messages; the cursor moves once they are stored. */
  take<Answer extends News>(ask: (since: number) => Promise<Answer>): Promise<Answer>
  /** What the server holds of the station's own avatar now; undefined when it has forgotten the station. */
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
      // A server that is not as far began anew, on an empty database and with a slower clock: none of what it has is
      // known.
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
