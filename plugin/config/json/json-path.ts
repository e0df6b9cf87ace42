import type { Steps } from '../problem.ts'

/**
 * Writes a place in a JSON document in readable form: `domains[""].dns`, `custom.scope[0]`. The document as a whole is
 * `$`.
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
 * Quotes a member's name for a message. Escapes line breaks and invisible characters, because messages end up in
 * terminals and logs.
 */
export function quoted(name: string): string {
  return JSON.stringify(name).replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  )
}

/** Returns the steps of a JSON Pointer (RFC 6901), in which ajv reports places. */
export function pointerSteps(pointer: string): Steps {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step))
}
