/** A value in a JSON text: from `start` up to `end`, and for an object its members. */
export interface JsonNode {
  readonly start: number
  readonly end: number
  /** By name; of two members with the same name the last one, as `JSON.parse` has it. */
  readonly members: ReadonlyMap<string, JsonNode>
  /** Names of members that are there more than once. */
  readonly repeated: readonly string[]
}

/** Where a text stops being JSON. Line and column count from 1. Quotes none of the text: it may hold secrets. */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError'
  readonly line: number
  readonly column: number
  constructor(text: string, at: number, reason: string) {
    super(reason)
    const lines = text.slice(0, at).split('\n')
    this.line = lines.length
    this.column = (lines.at(-1)?.length ?? 0) + 1
  }
}

/**
 * Says where the values of a JSON text (RFC 8259) stand; takes exactly what `JSON.parse` takes, up to 1000 levels.
 * `JSON.parse` neither tells that, nor in every version of Node where and why it gave up.
 *
 * @throws JsonSyntaxError
 */
export function locateJson(text: string): JsonNode {
  let at = 0

  function match(pattern: RegExp): string | undefined {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0]
    if (found !== undefined) at += found.length
    return found
  }

  function fail(expected: string): never {
    const found = at >= text.length ? 'the end of the text' : nameOf(text.slice(at, at + 2))
    throw new JsonSyntaxError(text, at, `expected ${expected}, found ${found}`)
  }

  function sign(character: string): boolean {
    match(SPACE)
    if (text[at] !== character) return false
    at++
    return true
  }

  function memberName(): string {
    match(SPACE)
    return JSON.parse(match(STRING) ?? fail('a name in double quotes'))
  }

  function value(depth: number): JsonNode {
    match(SPACE)
    const start = at
    if (depth > DEEPEST) throw new JsonSyntaxError(text, at, `more than ${DEEPEST} levels deep`)
    const members = new Map<string, JsonNode>()
    const repeated = new Set<string>()
    if (sign('{')) {
      let more = !sign('}')
      while (more) {
        const name = memberName()
        if (!sign(':')) fail('":"')
        if (members.has(name)) repeated.add(name)
        members.set(name, value(depth + 1))
        more = sign(',')
        if (!more && !sign('}')) fail('"," or "}"')
      }
    } else if (sign('[')) {
      let more = !sign(']')
      while (more) {
        value(depth + 1)
        more = sign(',')
        if (!more && !sign(']')) fail('"," or "]"')
      }
    } else if (match(STRING) === undefined && match(NUMBER) === undefined && match(WORD) === undefined) {
      fail('a value')
    }
    return { start, end: at, members, repeated: [...repeated] }
  }

  const whole = value(0)
  match(SPACE)
  if (at < text.length) fail('nothing more')
  return whole
}

const SPACE = /[ \t\r\n]*/y
// No alternatives under a star, which would need a stack as deep as the string is long. The ranges leave out control
// characters, the quotation mark and the backslash.
const STRING = /"[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\uffff]*)*"/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORD = /true|false|null/y
const DEEPEST = 1000

function nameOf(beginning: string): string {
  if (beginning.startsWith('\ufeff')) return 'a byte order mark'
  if (beginning === '//' || beginning === '/*') return 'a comment, which JSON does not have'
  if (beginning.startsWith('"')) return 'a string that is in the wrong place, does not end, or holds a bad escape'
  if (beginning.startsWith("'")) return 'a single quote'
  return /^[{}[\]:,]/.test(beginning) ? `"${beginning[0]}"` : 'something else'
}
