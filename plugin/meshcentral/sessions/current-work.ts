import { AsyncLocalStorage } from 'node:async_hooks'
import { replaceFunction } from '../replaced-functions.ts'
import type { MeshDatabase, MeshSocket } from '../server.ts'
import type { CookieOwner } from './cookie-owner.ts'
import type { SeenSession } from './open-sessions.ts'

type Callback = (...values: readonly unknown[]) => unknown

/** Emits what arrives later: a web socket its messages, a request its body. */
interface Emitter {
  emit(event: string | symbol, ...values: readonly unknown[]): boolean
}

/** The request or web socket that the server works for. */
export interface Work {
  /** The request's path. A web socket's path ends in `/.websocket`. */
  readonly path: string
  /** The query parameters, as Express parses them. */
  readonly query: Readonly<Record<string, unknown>>
  readonly request: Emitter | undefined
  /** The session that the request came with, if it began by a login of ours. */
  readonly session: SeenSession | undefined
  readonly socket: MeshSocket | undefined
  /** The owners of the sealed cookies that the request brought, by user. */
  readonly brought: Map<string, CookieOwner>
}

/** Tracks which request the server works for. MeshCentral seals cookies in many places, and few know the session. */
export interface CurrentWork {
  get(): Work | undefined
  /** Runs a task, everything that it leads to, and everything that its request and socket bring later. */
  run(work: Work, task: () => void): void
}

/**
 * Tracks the current work through MeshCentral's asynchronous calls.
 *
 * It replaces all functions of the database, so that an answer continues the work that asked. A connection pool answers
 * in the context that opened the connection: a cookie sealed there would belong to another session. Other databases
 * answer without a context, where a guest's tunnel is not recognised as one.
 */
export function followWork(db: MeshDatabase): CurrentWork {
  const storage = new AsyncLocalStorage<Work | undefined>()
  const functions = db as unknown as Record<string, Callback | undefined>
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
      // Data that arrives over a connection starts in the connection's context, not in the request's. MeshCentral's
      // upload forms decode the cookie once the body has arrived, whose packets may come after the head.
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
