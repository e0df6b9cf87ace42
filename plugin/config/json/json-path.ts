import type { Steps } from '../problem.ts'

/**
 * Formats a path in a JSON document for messages: `domains[""].dns`, `custom.scope[0]`. The path of the whole document
 * is `$`.
 */
export function jsonPath(steps: Steps): string {
  if (steps.length === 0) return '$'
  return steps.reduce<string>((path, step) => {
    if (typeof step === 'number') return `${path}[${step}]`
    if (!/^[A-Za-z_$][\w$]*$/.test(step)) return `${path}[${quoted(step)}]`
    return path === '' ? step : `${path}.${step}`
  }, '')
}

/**
 * Quotes a member's name for a message. Escapes line breaks and invisible characters, because messages appear in
 * terminals and logs.
 */
export function quoted(name: string): string {
  return JSON.stringify(name).replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  )
}

/** Splits a JSON Pointer (RFC 6901) into steps. ajv reports paths as JSON Pointers. */
export function pointerSteps(pointer: string): Steps {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step))
}
