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

/** Keeps the stored state. Its cursor changes only through {@link Cursor.take}. */
export interface Cursor {
  readonly state: ClientState
  /**
   * Returns this phone's device id. A new id is stored before it is first sent; otherwise a lost answer or a crash
   * would leave an orphaned device at the sidecar.
   */
  deviceId(): Promise<string>
  /** Requests messages with `ask`. Moves the cursor once the messages are stored. */
  take<Answer extends News>(ask: (since: number) => Promise<Answer>): Promise<Answer>
  /**
   * Stores the hash of the avatar that the server has for the station; undefined if the station is not registered
   * there.
   */
  confirm(avatarHash: string | undefined): Promise<void>
}

/** @param random returns 0 to below 1, as `Math.random` does */
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
      // An older server time means that the server started again with an empty database and its clock is behind. So all
      // of its messages are new.
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
