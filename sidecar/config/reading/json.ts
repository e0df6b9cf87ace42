/** A JSON text as read, or where and why it is none. Lines and columns count from 1. */
export type ParsedJson =
  | { readonly kind: 'value'; readonly value: unknown; readonly duplicates: readonly (readonly string[])[] }
  | { readonly kind: 'syntax_error'; readonly line: number; readonly column: number; readonly reason: string }

/**
 * Reads JSON (RFC 8259) like `JSON.parse`, which however does not always say where it stopped, quotes the text around
 * it (a secret, perhaps), and keeps the last of two members with one name without a word. `duplicates` are the places
 * of those.
 */
export function parseJson(text: string): ParsedJson {
  const duplicates: (readonly string[])[] = []
  let at = 0
  /** Where the last token ends, and the one before it begins and ends: commas are missed and doubled between lines. */
  let last = { token: '', at: 0, end: 0 }

  function peek(): string | undefined {
    SPACE.lastIndex = at
    at += SPACE.exec(text)?.[0].length ?? 0
    TOKEN.lastIndex = at
    return TOKEN.exec(text)?.[0]
  }

  function take(...expected: readonly string[]): string {
    const token = peek()
    if (token === undefined || !expected.includes(token[0] ?? '')) throw faultAt(token, expected)
    last = { token, at, end: at + token.length }
    at += token.length
    return token
  }

  function faultAt(token: string | undefined, expected: readonly string[]): SyntaxFault {
    const isNext = token !== undefined && [...SCALAR_STARTS, '{', '['].includes(token[0] ?? '')
    if (isNext && expected.includes(',')) return new SyntaxFault(last.end, 'a comma is missing')
    if (isNext && expected.includes(':')) return new SyntaxFault(last.end, 'a colon is missing after a name')
    if (last.token === ',' && (token === '}' || token === ']' || token === ','))
      return new SyntaxFault(last.at, 'a comma too many')
    if (token === ',' && (last.token === '{' || last.token === '[')) return new SyntaxFault(at, 'a comma too many')
    if (expected[0] === '"' && expected.length === 1 && /[A-Za-z_$]/.test(text[at] ?? ''))
      return new SyntaxFault(at, 'a name needs double quotes')
    return new SyntaxFault(at, describe(text, at))
  }

  function value(steps: readonly string[]): unknown {
    if (steps.length > DEEPEST) throw new SyntaxFault(at, 'nested too deeply')
    const token = take('{', '[', ...SCALAR_STARTS)
    if (token === '{') return object(steps)
    if (token === '[') return array(steps)
    return JSON.parse(token)
  }

  function object(steps: readonly string[]): unknown {
    const members = new Map<string, unknown>()
    if (peek() === '}') return take('}') && {}
    do {
      const name: string = JSON.parse(take('"'))
      if (members.has(name)) duplicates.push([...steps, name])
      take(':')
      members.set(name, value([...steps, name]))
    } while (take(',', '}') === ',')
    return Object.fromEntries(members)
  }

  function array(steps: readonly string[]): unknown {
    const items: unknown[] = []
    if (peek() === ']') return take(']') && items
    do items.push(value([...steps, String(items.length)]))
    while (take(',', ']') === ',')
    return items
  }

  try {
    const whole = value([])
    if (peek() !== undefined || at < text.length) throw new SyntaxFault(at, `${describe(text, at)} after the end`)
    return { kind: 'value', value: whole, duplicates }
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error
    const before = text.slice(0, error.at).split('\n')
    return {
      kind: 'syntax_error',
      line: before.length,
      column: (before.at(-1)?.length ?? 0) + 1,
      reason: error.message,
    }
  }
}

class SyntaxFault extends Error {
  readonly at: number
  constructor(at: number, reason: string) {
    super(reason)
    this.at = at
  }
}

const SPACE = /[ \t\r\n]*/y
const TOKEN =
  /[{}[\],:]|"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/uy
const SCALAR_STARTS = [...'"-0123456789tfn']
const DEEPEST = 32

function describe(text: string, at: number): string {
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0)
  if (at >= text.length) return 'the text ends too early'
  if (character === '/' || character === '#') return 'JSON has no comments'
  if (character === "'") return 'JSON takes double quotes, not single ones'
  if (character === '"')
    return 'a string that does not end on its line, holds a bad escape or stands in the wrong place'
  return `unexpected ${JSON.stringify(character)}`
}
