import type { ServerMetadata } from 'openid-client'
import type { Fetch } from '../http/limited-fetch.ts'
import { loadDocument } from './discovery-document.ts'

/**
 * Loads the discovery document of an issuer for all domains. Callers that ask for the same issuer with the same `fetch`
 * at the same time share one request.
 *
 * @param issuer the configured issuer
 * @param fetch a `fetch` with our limits. A domain with a client certificate has its own `fetch`, so it shares no
 *   requests
 * @throws UnusableDocument, UnansweredRequest
 */
export type Documents = (issuer: string, fetch: Fetch) => Promise<ServerMetadata>

/**
 * Creates the loader that all domains share. If each domain sent its own request, a server with 1,000 domains at one
 * IdP would send 1,000 at its start.
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
