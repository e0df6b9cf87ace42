import type { TimeLimit } from '../time-limit.ts'
import { createTurns } from './key-queues.ts'

/**
 * A store of texts by key, at once or by promises: a `Map`, a client of Redis, `jsonFileStore`. Several parts may share
 * one. The process has to be the only one that writes these keys: what lies between a `get` and a `set` is guarded
 * here, and nowhere else.
 */
export interface KeyedStore {
  /** Undefined or null where there is nothing. */
  get(key: string): Text | Promise<Text>
  /** Once it resolves, `get` gives that text. */
  set(key: string, text: string): unknown
}

type Text = string | null | undefined

/** Records in a store of texts: JSON, by the name of their kind and what tells one from another. */
export interface KeyedRecords {
  /** Undefined where there is none. */
  read(kind: string, names: readonly string[]): Promise<unknown>
  /**
   * What `change` makes of a record takes its place, and no other change of it comes in between; undefined leaves it as
   * it is. Where nothing changes, nothing is written.
   */
  change(kind: string, names: readonly string[], change: (record: unknown) => Changed): Promise<void>
}

type Changed = object | number | undefined | Promise<object | number | undefined>

/** Whoever opens the same store takes turns with the others. */
const turnsOf = new WeakMap<KeyedStore, ReturnType<typeof createTurns>>()

export function keyedRecords(store: KeyedStore, limit: TimeLimit): KeyedRecords {
  const turns = turnsOf.get(store) ?? createTurns()
  turnsOf.set(store, turns)

  async function get(key: string): Promise<Text> {
    const text = store.get(key)
    // What is here at once needs no limit: a login reads four times.
    if (typeof text !== 'object' || text === null) return text
    return limit(text, 'The store of accounts and groups did not answer in time.')
  }

  async function read(text: Text, kind: string): Promise<unknown> {
    if (text === undefined || text === null) return undefined
    try {
      return JSON.parse(text)
    } catch {
      // The parser's own words would quote it.
      throw damaged(kind)
    }
  }

  return {
    read: async (kind, names) => read(await get(keyOf(kind, names)), kind),
    change: (kind, names, change) => {
      const key = keyOf(kind, names)
      return turns(key, limit, async () => {
        const text = await store.get(key)
        const changed = await change(await read(text, kind))
        const wanted = changed === undefined ? text : JSON.stringify(changed)
        if (typeof wanted === 'string' && wanted !== text) await store.set(key, wanted)
      })
    },
  }
}

export function damaged(kind: string): Error {
  return new Error(`A record of kind ${kind} in the store is damaged.`)
}

// As JSON: no two lists of names give one key, no key is `__proto__`, and half a surrogate pair is written out.
function keyOf(kind: string, names: readonly string[]): string {
  return `${kind} ${JSON.stringify(names)}`
}
