import type { ServerMetadata } from 'openid-client'
import type { Fetch } from '../http/limited-fetch.ts'
import { loadDocument } from './discovery-document.ts'

/** Requests under way in the background; the others wait in line. */
const MOST_AT_ONCE = 8

/** A document that was asked for. */
export interface AskedDocument {
  /** @throws UnusableDocument, UnansweredRequest */
  readonly document: Promise<ServerMetadata>
  /** Somebody waits for it: it is asked for at once, whoever else is in line. */
  hurry(): void
}

/** What issuers publish about themselves, for all domains. */
export interface Documents {
  /**
   * Asks an issuer: in its turn, and once for all who ask meanwhile for the same issuer by the same `fetch`. They share the outcome.
   *
   * @param issuer as it is configured
   * @param fetch limited; one that shows a certificate of its own is another one
   */
  ask(issuer: string, fetch: Fetch): AskedDocument
  /** Nobody in line is asked any more: all that wait there are rejected. */
  close(): void
}

interface Waiting {
  readonly begin: () => void
  readonly refuse: (error: Error) => void
}

/**
 * A server with 1,000 domains asked 1,000 times at its start, all at once: every other request waited for that, and the IdP, which is
 * mostly the same for many, had cause to take it for an attack.
 */
export function createDocuments(): Documents {
  const asked = new Map<Fetch, Map<string, AskedDocument>>()
  const line = new Set<Waiting>()
  let underWay = 0
  let closed = false

  function next(): void {
    for (const waiting of line) {
      if (underWay >= MOST_AT_ONCE) return
      begin(waiting)
    }
  }

  function begin(waiting: Waiting): void {
    if (!line.delete(waiting)) return
    underWay += 1
    waiting.begin()
  }

  async function load(issuer: string, fetch: Fetch, turn: Promise<void>): Promise<ServerMetadata> {
    await turn
    try {
      return await loadDocument(issuer, fetch)
    } finally {
      underWay -= 1
      next()
    }
  }

  return {
    ask(issuer, fetch) {
      const ofFetch = asked.get(fetch) ?? new Map<string, AskedDocument>()
      const same = ofFetch.get(issuer)
      if (same) return same
      const { promise: turn, resolve, reject } = deferred()
      const waiting = { begin: resolve, refuse: reject }
      const document = load(issuer, fetch, turn).finally(() => {
        ofFetch.delete(issuer)
        if (ofFetch.size === 0) asked.delete(fetch)
      })
      const one: AskedDocument = {
        document,
        hurry: () => begin(waiting),
      }
      asked.set(fetch, ofFetch.set(issuer, one))
      line.add(waiting)
      if (closed) refuseAll()
      else next()
      return one
    },
    close() {
      closed = true
      refuseAll()
    },
  }

  function refuseAll(): void {
    for (const { refuse } of line) refuse(new Error('Single sign-on has been closed'))
    line.clear()
  }
}

function deferred(): { promise: Promise<void>; resolve: () => void; reject: (error: Error) => void } {
  let settle: { resolve: () => void; reject: (error: Error) => void } | undefined
  const promise = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject }
  })
  return { promise, resolve: () => settle?.resolve(), reject: (error) => settle?.reject(error) }
}
