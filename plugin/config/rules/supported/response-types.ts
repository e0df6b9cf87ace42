import { isJsonObject, type JsonObject } from '../../json/json-object.ts'
import type { Finding } from '../../problem.ts'
import { RESPONSE_TYPES, type ResponseType } from '../../settings.ts'

/** Reads the response types, without duplicates. Source: Client object, `response_types`. */
export function responseTypes(value: string | readonly string[] = []): readonly [ResponseType, ...ResponseType[]] {
  const [first = 'code', ...rest] = new Set([value].flat().flatMap((entry) => responseType(entry) ?? []))
  return [first, ...rest]
}

/** Returns the response type that logins use, even if `response_types` contains mistakes. */
export function firstResponseType(oidc: JsonObject): ResponseType {
  const { response_types } = isJsonObject(oidc.client) ? oidc.client : {}
  const entries = [response_types].flat().filter((entry) => typeof entry === 'string')
  return responseTypes(entries)[0]
}

/** Reports unknown response types, and the outdated name `authorization_code`. */
export function checkResponseTypes(oidc: JsonObject): readonly Finding[] {
  const value = isJsonObject(oidc.client) ? oidc.client.response_types : undefined
  const entries: readonly unknown[] = [value].flat()
  return entries.flatMap((entry, index): Finding[] => {
    if (typeof entry !== 'string') return []
    const steps = ['client', 'response_types', ...(Array.isArray(value) ? [index] : [])]
    if (entry.trim() === OLD_NAME) {
      const reason = `contains the old name ${OLD_NAME}`
      return [
        {
          warning: 'deprecated_value',
          steps,
          reason,
          remedy: 'Write "code" instead. Until then, the plugin reads the old name as "code".',
        },
      ]
    }
    if (responseType(entry)) return []
    return [{ steps, reason: 'is not a known response type', remedy: `Use one of ${RESPONSE_TYPES.join(', ')}.` }]
  })
}

// Refuses query response modes for ID tokens, which would end up in logs and histories. Source: OAuth 2.0 Multiple
// Response Type Encoding Practices, section 5.
export function checkResponseMode(oidc: JsonObject): readonly Finding[] {
  const client = isJsonObject(oidc.client) ? oidc.client : {}
  const first = firstResponseType(oidc)
  if (first === 'code' || (client.response_mode !== 'query' && client.response_mode !== 'query.jwt')) return []
  const remedy = 'Use form_post, or omit it.'
  return [{ steps: ['client', 'response_mode'], reason: `cannot be used with the response type "${first}"`, remedy }]
}

const OLD_NAME = 'authorization_code'

// Finds the response type that a text names. The order of its words has no meaning (OAuth 2.0 Multiple Response Type
// Encoding Practices, section 2).
function responseType(entry: string): ResponseType | undefined {
  const words = entry.trim().split(/\s+/).sort().join(' ')
  return words === OLD_NAME ? 'code' : RESPONSE_TYPES.find((type) => type === words)
}
