import type { ServerMetadata } from 'openid-client'
import type { Fetch } from '../http/limited-fetch.ts'
import { loadDocument } from './discovery-document.ts'

/**
 * What an issuer publishes about itself, for all domains: whoever asks meanwhile for the same issuer by the same
 * `fetch` shares the outcome.
 *
 * @param issuer as it is configured
 * @param fetch limited; one that shows a certificate of its own is another one
 * @throws UnusableDocument, UnansweredRequest
 */
export type Documents = (issuer: string, fetch: Fetch) => Promise<ServerMetadata>

/** A server with 1,000 domains would ask the IdP that is mostly the same for many 1,000 times at its start. */
export function createDocuments(): Documents {
  const asked = new Map<Fetch, Map<string, Promise<ServerMetadata>>>()
  return (issuer, fetch) => {
    const ofFetch = asked.get(fetch) ?? new Map<string, Promise<ServerMetadata>>()
    const same = ofFetch.get(issuer)
    if (same) return same
    const document = loadDocument(issuer, fetch).finally(() => {
      ofFetch.delete(issuer)
      if (ofFetch.size === 0) asked.delete(fetch)
    })
    asked.set(fetch, ofFetch.set(issuer, document))
    return document
  }
}
