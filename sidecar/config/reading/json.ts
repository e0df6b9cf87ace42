/**
 * The result of parsing a JSON text: its value, or the place and reason of the first mistake. Lines and columns count
 * from 1.
 */
export type ParsedJson =
  /** `duplicates`: the paths of members that appear twice. */
  | { readonly kind: 'value'; readonly value: unknown; readonly duplicates: readonly (readonly string[])[] }
  | { readonly kind: 'syntax_error'; readonly line: number; readonly column: number; readonly reason: string }

/**
 * Parses JSON (RFC 8259). Unlike `JSON.parse`, always tells where a mistake is; never quotes the text, which may
 * contain a secret.
 */
export function parseJson(text: string): ParsedJson {
  const parser = new Parser(text)
  try {
    const value = parser.document()
    return { kind: 'value', value, duplicates: parser.duplicates }
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error
    const linesBefore = text.slice(0, error.offset).split('\n')
    return {
      kind: 'syntax_error',
      line: linesBefore.length,
      column: (linesBefore.at(-1)?.length ?? 0) + 1,
      reason: error.message,
    }
  }
}

/**
 * A recursive descent parser. `peek` skips white space and returns a token. `take` consumes an expected token, and
 * keeps its position for errors.
 */
class Parser {
  readonly duplicates: (readonly string[])[] = []
  readonly #text: string
  #offset = 0
  #last = { token: '', start: 0, end: 0 }

  constructor(text: string) {
    this.#text = text
  }

  /** Parses the whole text. Throws a {@link SyntaxFault} if the text is not JSON. */
  document(): unknown {
    const value = this.#value([])
    if (this.#peek() !== undefined || this.#offset < this.#text.length)
      throw new SyntaxFault(this.#offset, `${describe(this.#text, this.#offset)} after the end`)
    return value
  }

  #peek(): string | undefined {
    SPACE.lastIndex = this.#offset
    this.#offset += SPACE.exec(this.#text)?.[0].length ?? 0
    TOKEN.lastIndex = this.#offset
    return TOKEN.exec(this.#text)?.[0]
  }

  #take(...expected: readonly string[]): string {
    const token = this.#peek()
    if (token === undefined || !expected.includes(token[0] ?? '')) throw this.#fault(token, expected)
    this.#last = { token, start: this.#offset, end: this.#offset + token.length }
    this.#offset += token.length
    return token
  }

  #fault(token: string | undefined, expected: readonly string[]): SyntaxFault {
    const last = this.#last
    const startsValue = token !== undefined && [...SCALAR_STARTS, '{', '['].includes(token[0] ?? '')
    if (startsValue && expected.includes(',')) return new SyntaxFault(last.end, 'a comma is missing')
    if (startsValue && expected.includes(':')) return new SyntaxFault(last.end, 'a colon is missing after a name')
    if (last.token === ',' && (token === '}' || token === ']' || token === ','))
      return new SyntaxFault(last.start, 'there is a comma too many')
    if (token === ',' && (last.token === '{' || last.token === '['))
      return new SyntaxFault(this.#offset, 'there is a comma too many')
    if (expected[0] === '"' && expected.length === 1 && /[A-Za-z_$]/.test(this.#text[this.#offset] ?? ''))
      return new SyntaxFault(this.#offset, 'a name needs double quotes')
    return new SyntaxFault(this.#offset, describe(this.#text, this.#offset))
  }

  #value(steps: readonly string[]): unknown {
    if (steps.length > MAX_DEPTH) throw new SyntaxFault(this.#offset, 'nested too deeply')
    const token = this.#take('{', '[', ...SCALAR_STARTS)
    if (token === '{') return this.#object(steps)
    if (token === '[') return this.#array(steps)
    return JSON.parse(token)
  }

  #object(steps: readonly string[]): unknown {
    const members = new Map<string, unknown>()
    if (this.#peek() === '}') return this.#take('}') && {}
    do {
      const name: string = JSON.parse(this.#take('"'))
      if (members.has(name)) this.duplicates.push([...steps, name])
      this.#take(':')
      members.set(name, this.#value([...steps, name]))
    } while (this.#take(',', '}') === ',')
    return Object.fromEntries(members)
  }

  #array(steps: readonly string[]): unknown {
    const items: unknown[] = []
    if (this.#peek() === ']') return this.#take(']') && items
    do items.push(this.#value([...steps, String(items.length)]))
    while (this.#take(',', ']') === ',')
    return items
  }
}

class SyntaxFault extends Error {
  readonly offset: number
  constructor(offset: number, reason: string) {
    super(reason)
    this.offset = offset
  }
}

const SPACE = /[ \t\r\n]*/y
const TOKEN =
  /[{}[\],:]|"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/uy
const SCALAR_STARTS = [...'"-0123456789tfn']
const MAX_DEPTH = 32

function describe(text: string, offset: number): string {
  const character = String.fromCodePoint(text.codePointAt(offset) ?? 0)
  if (offset >= text.length) return 'the text ends too early'
  if (character === '/' || character === '#') return 'JSON has no comments'
  if (character === "'") return 'JSON needs double quotes, not single ones'
  if (character === '"') return 'a string is in the wrong place, does not end on its line, or has an invalid escape'
  return `unexpected ${JSON.stringify(character)}`
}
