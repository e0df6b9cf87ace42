import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'

/** A secret that was copied from an example with the rest of it. */
export function checkPlaceholder({ client }: JsonObject): readonly Finding[] {
  const secret = isJsonObject(client) ? client.client_secret : undefined
  if (typeof secret !== 'string' || !/^\s*(?:…|\.{3})\s*$/.test(secret)) return []
  const remedy = 'Write the client secret that the IdP issued.'
  return [{ at: ['client', 'client_secret'], reason: 'is still the placeholder', remedy }]
}
