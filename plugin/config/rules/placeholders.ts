import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding, Steps } from '../problem.ts'

/** What examples have where a value belongs. Each pattern is linear in the length of the text. */
const PATTERNS = [
  /<[^<>]+>/, // <Client ID>
  /^\s*(?:…|\.{3})\s*$/,
  /(?:^|[^a-z0-9])replace(?:[-_ ]|me|with|this)|^\s*REPLACE/i,
  /(?:^|[^a-z0-9])change[-_ ]?(?:me|this|it)(?:[^a-z]|$)/i,
  /(?:^|[^a-z0-9])your[-_ .]/i,
  /(?:^|[^a-z0-9])x{4,}/i,
]

/** Returns whether a text looks like what an example has in place of a value. */
export function isPlaceholder(text: string): boolean {
  return PATTERNS.some((pattern) => pattern.test(text))
}

/** Texts that a person reads, in which such words may stand. */
const PROSE = ['buttonText']

/** Values that were copied from an example with the rest of it. */
export function checkPlaceholders(oidc: JsonObject): readonly Finding[] {
  const { client } = oidc
  const secret = isJsonObject(client) ? client.client_secret : undefined
  // No IdP issues this one, and every login would fail.
  const isUnset = typeof secret === 'string' && /^\s*(?:…|\.{3})\s*$/.test(secret)
  return [
    ...(isUnset ? [{ at: SECRET, reason: 'is still the placeholder', remedy: REMEDIES.client_secret }] : []),
    ...textsIn(oidc, [])
      .filter(({ at, text }) => isPlaceholder(text) && !(isUnset && at.join('.') === SECRET.join('.')))
      .map(({ at }): Finding => ({ warning: 'placeholder', at, reason: REASON, remedy: remedyFor(at) })),
  ]
}

const SECRET = ['client', 'client_secret']
const REASON = 'looks like a placeholder of an example'

function textsIn(value: unknown, at: Steps): readonly { readonly at: Steps; readonly text: string }[] {
  if (typeof value === 'string') return [{ at, text: value }]
  if (Array.isArray(value)) return value.flatMap((item, index) => textsIn(item, [...at, index]))
  if (!isJsonObject(value)) return []
  return Object.entries(value).flatMap(([name, inner]) => (PROSE.includes(name) ? [] : textsIn(inner, [...at, name])))
}

const REMEDIES = {
  client_id: 'Write the client id that the IdP issued.',
  client_secret: 'Write the client secret that the IdP issued.',
  issuer: "Write the issuer's complete https address, exactly as the IdP states it.",
} as const

function remedyFor(at: Steps): string {
  const name = at.at(-1)
  return Object.hasOwn(REMEDIES, String(name)) ? REMEDIES[name as keyof typeof REMEDIES] : 'Write the real value.'
}
