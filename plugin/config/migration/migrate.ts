import { type FindOptions, findDomains } from '../domains/find-domains.ts'
import { isJsonObject } from '../json/json-object.ts'
import { type JsonNode, locateJson } from '../json/json-text.ts'
import { moveDeprecatedKeys } from './deprecated-keys.ts'

/**
 * The text of a server's configuration with every deprecated key in its new place. Only `oidc` objects that have such
 * keys are written anew; every other character stays as it is.
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
  let rest = 0
  let result = ''
  // Members with names like numbers come first in a parsed object, wherever they stand in the text.
  for (const { start, end, replacement } of edits.sort((one, other) => one.start - other.start)) {
    // Several domains have that of `domaindefaults`.
    if (start < rest) continue
    result += text.slice(rest, start) + replacement
    rest = end
  }
  return result + text.slice(rest)
}

function nodeAt(whole: JsonNode, names: readonly string[]): JsonNode | undefined {
  return names.reduce<JsonNode | undefined>((node, name) => node?.members.get(name), whole)
}

/** Indented as the object was that it takes the place of; on one line if that was. */
function inStyleOf(text: string, { start, end }: JsonNode, value: unknown): string {
  const old = text.slice(start, end)
  if (!old.includes('\n')) return JSON.stringify(value)
  const outer = /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', start - 1) + 1))?.[0] ?? ''
  const inner = /\n([ \t]*)\S/.exec(old)?.[1] ?? ''
  const step = inner.length > outer.length && inner.startsWith(outer) ? inner.slice(outer.length) : '  '
  const lineBreak = old.includes('\r\n') ? '\r\n' : '\n'
  return JSON.stringify(value, null, step).replaceAll('\n', lineBreak + outer)
}
