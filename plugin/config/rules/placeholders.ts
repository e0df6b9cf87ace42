import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding, Steps } from '../problem.ts'

/** Patterns of placeholders in examples. The time to match each pattern is linear in the length of the text. */
const PATTERNS = [
  /<[^<>]+>/, // such as <Client ID>
  /^\s*(?:…|\.{3})\s*$/,
  /(?:^|[^a-z0-9])replace(?:[-_ ]|me|with|this)|^\s*REPLACE/i,
  /(?:^|[^a-z0-9])change[-_ ]?(?:me|this|it)(?:[^a-z]|$)/i,
  /(?:^|[^a-z0-9])your[-_ .]/i,
  /(?:^|[^a-z0-9])x{4,}/i,
]

/** Whether a text looks like a placeholder of an example. */
export function isPlaceholder(text: string): boolean {
  return PATTERNS.some((pattern) => pattern.test(text))
}

/**
 * Members that are not checked for placeholders. They contain text for users, in which words such as "your" are normal.
 */
const PROSE = ['buttonText']

/** Reports values that are still placeholders from an example. */
export function checkPlaceholders(oidc: JsonObject): readonly Finding[] {
  const { client } = oidc
  const secret = isJsonObject(client) ? client.client_secret : undefined
  // A secret that consists only of dots is an error, not a warning. No IdP issues such a secret, so every login would
  // fail.
  const isUnset = typeof secret === 'string' && /^\s*(?:…|\.{3})\s*$/.test(secret)
  return [
    ...(isUnset ? [{ steps: SECRET, reason: 'is still the placeholder', remedy: REMEDIES.client_secret }] : []),
    ...textsIn(oidc, [])
      .filter(({ steps, text }) => isPlaceholder(text) && !(isUnset && steps.join('.') === SECRET.join('.')))
      .map(({ steps }): Finding => ({ warning: 'placeholder', steps, reason: REASON, remedy: remedyFor(steps) })),
  ]
}

const SECRET = ['client', 'client_secret']
const REASON = 'looks like a placeholder of an example'

function textsIn(value: unknown, steps: Steps): readonly { readonly steps: Steps; readonly text: string }[] {
  if (typeof value === 'string') return [{ steps, text: value }]
  if (Array.isArray(value)) return value.flatMap((item, index) => textsIn(item, [...steps, index]))
  if (!isJsonObject(value)) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    PROSE.includes(name) ? [] : textsIn(inner, [...steps, name]),
  )
}

const REMEDIES = {
  client_id: 'Write the client id that the IdP issued.',
  client_secret: 'Write the client secret that the IdP issued.',
  issuer: "Write the issuer's complete https address, exactly as the IdP states it.",
} as const

function remedyFor(steps: Steps): string {
  const name = steps.at(-1)
  return Object.hasOwn(REMEDIES, String(name)) ? REMEDIES[name as keyof typeof REMEDIES] : 'Write the real value.'
}
