import type { ServerMetadata } from 'openid-client'
import type { Fetch } from '../http/limited-fetch.ts'
import { loadDocument } from './discovery-document.ts'

/**
 * Loads the discovery document of an issuer. Concurrent calls with the same arguments share one request.
 *
 * @param fetch limits time and size. Domains with a client certificate have their own
 * @throws UnusableDocument, UnansweredRequest
 */
export type Documents = (issuer: string, fetch: Fetch) => Promise<ServerMetadata>

/**
 * Creates the loader that all domains share. Without it, a server with 1,000 domains at one IdP would send 1,000
 * requests at startup.
 */
export function createDocuments(): Documents {
  const pending = new Map<Fetch, Map<string, Promise<ServerMetadata>>>()
  return (issuer, fetch) => {
    const requests = pending.get(fetch) ?? new Map<string, Promise<ServerMetadata>>()
    const running = requests.get(issuer)
    if (running) return running
    const document = loadDocument(issuer, fetch).finally(() => {
      requests.delete(issuer)
      if (requests.size === 0) pending.delete(fetch)
    })
    pending.set(fetch, requests.set(issuer, document))
    return document
  }
}
