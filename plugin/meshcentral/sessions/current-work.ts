import { AsyncLocalStorage } from 'node:async_hooks'
import { replaceFunction } from '../replaced-functions.ts'
import type { MeshDatabase, MeshSocket } from '../server.ts'
import type { CookieOwner } from './cookie-owner.ts'
import type { SeenSession } from './open-sessions.ts'

type Callback = (...values: readonly unknown[]) => unknown

/**
 * An emitter of events that arrive while a request is handled: the messages of a web socket, or the body of a request.
 */
interface Emitter {
  emit(event: string | symbol, ...values: readonly unknown[]): boolean
}

/** The request or web socket that the server is working on. */
export interface Work {
  /** The request's path. A web socket's path ends in `/.websocket`. */
  readonly path: string
  /** The query parameters, as Express parses them. */
  readonly query: Readonly<Record<string, unknown>>
  readonly request: Emitter | undefined
  /** The session that the request came with, if a login of the plugin began that session. */
  readonly session: SeenSession | undefined
  readonly socket: MeshSocket | undefined
  /** The owners of the sealed cookies that arrived with the request, by user. */
  readonly brought: Map<string, CookieOwner>
}

/**
 * Tracks the server's current request, because most of MeshCentral's code that seals cookies does not know the session.
 */
export interface CurrentWork {
  get(): Work | undefined
  /**
   * Runs a task as part of `work`. `get` returns `work` in the task, in all asynchronous calls that it starts, and in
   * later events of its request and socket.
   */
  run(work: Work, task: () => void): void
}

/** Tracks the current work through MeshCentral's asynchronous calls. Wraps all functions of the database. */
export function followWork(db: MeshDatabase): CurrentWork {
  const storage = new AsyncLocalStorage<Work | undefined>()
  const functions = db as unknown as Record<string, Callback | undefined>
  // Run each callback in its caller's context. A connection pool calls back in the context of the request that opened
  // the connection, so a cookie sealed there would belong to the wrong session. Other databases lose the context, so a
  // guest's tunnel would not be recognised.
  for (const member of Object.keys(db)) {
    replaceFunction('db.*', functions, member, (original) => (...values) => {
      const work = storage.getStore()
      const inWork = (value: unknown) =>
        typeof value === 'function'
          ? (...answer: readonly unknown[]) => storage.run(work, () => value(...answer))
          : value
      return original(...values.map(inWork))
    })
  }
  return {
    get: () => storage.getStore(),
    run(work, task) {
      // Node.js emits events in the context of the connection. MeshCentral decodes the cookie of an upload in such an
      // event, once the body has arrived.
      for (const source of [work.request, work.socket]) {
        if (!source) continue
        replaceFunction(
          'emit',
          source,
          'emit',
          (emit) =>
            (...event) =>
              storage.run(work, () => emit(...event)),
        )
      }
      storage.run(work, task)
    },
  }
}
