import { type FindOptions, findDomains } from '../domains/find-domains.ts'
import { isJsonObject } from '../json/json-object.ts'
import { type JsonNode, locateJson } from '../json/json-text.ts'
import { moveDeprecatedKeys } from './deprecated-keys.ts'

/**
 * Moves the deprecated keys in a configuration's text. Rewrites only the `oidc` objects that contain such keys.
 *
 * @throws JsonSyntaxError
 */
export function migrate(text: string, options: FindOptions = {}): string {
  const whole = locateJson(text)
  const edits = findDomains(JSON.parse(text), options).domains.flatMap(({ oidc, written }) => {
    if (!isJsonObject(oidc)) return []
    const node = nodeAt(whole, written)
    const moves = moveDeprecatedKeys(oidc)
    if (!node || moves.warnings.length === 0) return []
    return [{ start: node.start, end: node.end, replacement: inStyleOf(text, node, moves.oidc) }]
  })
  let position = 0
  let result = ''
  // Sort by position in the text. A parsed object does not keep that order: it lists members with numeric names first.
  for (const { start, end, replacement } of edits.sort((first, second) => first.start - second.start)) {
    // Several domains can share the `oidc` object of `domaindefaults`. Replace it only once.
    if (start < position) continue
    result += text.slice(position, start) + replacement
    position = end
  }
  return result + text.slice(position)
}

function nodeAt(whole: JsonNode, names: readonly string[]): JsonNode | undefined {
  return names.reduce<JsonNode | undefined>((node, name) => node?.members.get(name), whole)
}

/**
 * Formats a value with the indentation of the object that it replaces. If that object was on one line, the result is on
 * one line too.
 */
function inStyleOf(text: string, { start, end }: JsonNode, value: unknown): string {
  const old = text.slice(start, end)
  if (!old.includes('\n')) return JSON.stringify(value)
  const outer = /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', start - 1) + 1))?.[0] ?? ''
  const inner = /\n([ \t]*)\S/.exec(old)?.[1] ?? ''
  const step = inner.length > outer.length && inner.startsWith(outer) ? inner.slice(outer.length) : '  '
  const lineBreak = old.includes('\r\n') ? '\r\n' : '\n'
  return JSON.stringify(value, null, step).replaceAll('\n', lineBreak + outer)
}
