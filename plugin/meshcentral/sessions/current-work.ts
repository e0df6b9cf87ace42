import { AsyncLocalStorage } from 'node:async_hooks'
import type { MeshDatabase, MeshSocket } from '../server.ts'
import type { Owner } from './cookie-owner.ts'
import type { SeenSession } from './open-sessions.ts'

/** What brings more later: a web socket its messages, a request its body. */
interface Emitter {
  emit(event: string | symbol, ...values: readonly unknown[]): boolean
}

/** A request or a web socket that the server works for. */
export interface Work {
  /** That of a web socket ends in `/.websocket`. */
  readonly path: string
  /** Parameters of the address, as Express reads them. */
  readonly query: Readonly<Record<string, unknown>>
  readonly request: Emitter | undefined
  /** The session of ours that it came with. */
  readonly session: SeenSession | undefined
  readonly socket: MeshSocket | undefined
  /** Whose the sealed cookies were that it brought, by the user whom they name. */
  readonly brought: Map<string, Owner>
}

/** What the server works for at the moment: MeshCentral seals in many places, and few of them say for which session. */
export interface CurrentWork {
  get(): Work | undefined
  /** Runs the task, whatever it leads to, and all that its request and its socket will bring. */
  run(work: Work, task: () => void): void
}

/**
 * @param db whose answers come back to the work that asked, whatever was asked for: a pool answers in the work that
 *   opened the connection, and what is sealed there would be of somebody else's session; others answer in none, where a
 *   guest's tunnel is not known for one
 */
export function followWork(db: MeshDatabase): CurrentWork {
  const storage = new AsyncLocalStorage<Work | undefined>()
  for (const [name, call] of Object.entries(db)) {
    if (typeof call !== 'function') continue
    Reflect.set(db, name, (...given: readonly unknown[]): unknown => {
      const work = storage.getStore()
      const backHere = (one: unknown) =>
        typeof one === 'function' ? (...answer: readonly unknown[]) => storage.run(work, () => one(...answer)) : one
      return Reflect.apply(call, db, given.map(backHere))
    })
  }
  return {
    get: () => storage.getStore(),
    run(work, task) {
      // What comes in over a connection begins there, not at the request that it belongs to. MeshCentral's upload forms
      // read the cookie once the body is there, in packets that may come after the head.
      for (const source of [work.request, work.socket]) {
        if (!source) continue
        const emit = source.emit.bind(source)
        source.emit = (...event) => storage.run(work, () => emit(...event))
      }
      storage.run(work, task)
    },
  }
}
