import type { MessageRecord, Stamped } from '../wire/bodies.ts'
import type { AppStore, ClientState } from './app-store.ts'
import { ClientError } from './client-error.ts'

/** An answer that brings messages, or may have. */
interface News extends Stamped {
  readonly messages?: readonly MessageRecord[]
}

/** The state that the app keeps, and when its cursor may move. */
export interface Cursor {
  readonly state: ClientState
  /** Asks for messages; the cursor moves once they are stored. */
  take<Answer extends News>(ask: (since: number) => Promise<Answer>): Promise<Answer>
  /** The server time of an answer that brings no messages. */
  pass(answer: Stamped): Promise<void>
  /** What the server holds of the station's own avatar now; undefined when it has forgotten the station. */
  confirm(avatarHash: string | undefined): Promise<void>
}

export function createCursor(store: AppStore, loaded: ClientState): Cursor {
  let state = loaded
  // To the sidecar an answer that left it counts as received. Where one was lost, or is still to be asked for after the launch, the server
  // times of answers without messages may be newer than what was in it.
  let complete = false
  let lost = false

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

    async take(ask) {
      try {
        const answer = await ask(state.cursor)
        const cursor = Math.max(state.cursor, answer.serverTime)
        await save({ ...state, cursor }, await unheard(answer.messages ?? []))
        complete = true
        return answer
      } catch (error) {
        if (!(error instanceof ClientError) || error.passing) lost = true
        throw error
      }
    },

    async pass({ serverTime }) {
      if (complete && !lost && serverTime > state.cursor) await save({ ...state, cursor: serverTime }, [])
    },

    async confirm(avatarHash) {
      if (avatarHash === state.avatarHash) return
      await save({ cursor: state.cursor, ...(avatarHash !== undefined && { avatarHash }) }, [])
    },
  }
}
