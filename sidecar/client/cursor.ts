import type { AnswerDetails, AppStore, ClientState } from './app-store.ts'
import { createDeviceId } from './device-id.ts'
import type { AckRecord, MessageRecord, Stamped } from './wire/bodies.ts'

/** An answer that may contain messages. */
interface News extends Stamped {
  readonly messages?: readonly MessageRecord[]
  readonly acks?: readonly AckRecord[]
  readonly truncated?: boolean
}

const NO_DETAILS: AnswerDetails = { isTruncated: false, acks: [] }

/** Keeps the state that is saved in the app's store. Only {@link Cursor.take} changes the cursor in that state. */
export interface Cursor {
  readonly state: ClientState
  /** Returns this phone's device id, stored before it is first sent. Otherwise a crash could lead to a second one. */
  deviceId(): Promise<string>
  /**
   * Calls `ask` with the cursor to request newer messages, passes them to the app's store, and then moves the cursor.
   */
  take<Answer extends News>(ask: (since: number) => Promise<Answer>): Promise<Answer>
  /**
   * Stores the hash that the server reported for the station's avatar. `avatarHash` is undefined if the server does not
   * know the station.
   */
  confirm(avatarHash: string | undefined): Promise<void>
}

/** @param random returns a number from 0 to below 1, as `Math.random` does */
export function createCursor(store: AppStore, loaded: ClientState, random: () => number): Cursor {
  let state = loaded

  async function save(next: ClientState, messages: readonly MessageRecord[] = [], details = NO_DETAILS): Promise<void> {
    await store.save(next, messages, details)
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
      if (state.deviceId === undefined) await save({ ...state, deviceId })
      return deviceId
    },

    async take(ask) {
      const first = await ask(state.cursor)
      // The server restarted with an empty database and a clock that is behind. So all of its messages are new to this
      // phone.
      const answer = first.serverTime < state.cursor ? await ask(0) : first
      const messages = await unheard(answer.messages ?? [])
      await save({ ...state, cursor: answer.serverTime }, messages, {
        isTruncated: answer.truncated === true,
        acks: answer.acks ?? [],
      })
      return answer
    },

    async confirm(avatarHash) {
      if (avatarHash === state.avatarHash) return
      const { avatarHash: _, ...rest } = state
      await save({ ...rest, ...(avatarHash !== undefined && { avatarHash }) })
    },
  }
}
