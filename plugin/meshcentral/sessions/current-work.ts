import { AsyncLocalStorage } from 'node:async_hooks'
import type { MeshDatabase, MeshSocket } from '../server.ts'
import type { SeenSession } from './open-sessions.ts'
import type { Owner } from './owner.ts'

/** A request or a web socket that the server works for. */
export interface Work {
  /** That of a web socket ends in `/.websocket`. */
  readonly path: string
  /** The session of ours that it came with. */
  readonly session: SeenSession | undefined
  readonly socket: MeshSocket | undefined
  /** Whose the sealed cookies were that it brought, by the user whom they name. */
  readonly brought: Map<string, Owner>
}

/** What the server works for at the moment: MeshCentral seals in many places, and few of them say for which session. */
export interface CurrentWork {
  get(): Work | undefined
  /** Runs the task, whatever it leads to, and all that its socket will bring. */
  run(work: Work, task: () => void): void
}

/** @param db whose answers come back to the work that asked: some databases answer in the one that opened their connection */
export function followWork(db: MeshDatabase): CurrentWork {
  const storage = new AsyncLocalStorage<Work | undefined>()
  const get = db.Get.bind(db)
  db.Get = (id, done) => {
    const work = storage.getStore()
    get(id, (...answer) => storage.run(work, () => done(...answer)))
  }
  return {
    get: () => storage.getStore(),
    run(work, task) {
      const { socket } = work
      if (socket) {
        // What comes in over a socket begins there, not at the request that opened it.
        const emit = socket.emit.bind(socket)
        socket.emit = (...event) => storage.run(work, () => emit(...event))
      }
      storage.run(work, task)
    },
  }
}
