/** A value in a JSON text, with its position and, for an object, its members. */
export interface JsonNode {
  readonly start: number
  readonly end: number
  /** Members by name. If a name is repeated, this is the last member with it, as in `JSON.parse`. */
  readonly members: ReadonlyMap<string, JsonNode>
  /** Names that occur more than once in this object. */
  readonly repeated: readonly string[]
}

/**
 * A syntax error in a JSON text. Line and column start at 1. The message quotes no text, because it may contain
 * secrets.
 */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError'
  readonly line: number
  readonly column: number
  constructor(text: string, offset: number, reason: string) {
    super(reason)
    const before = text.slice(0, offset)
    this.line = before.split('\n').length
    this.column = before.length - before.lastIndexOf('\n')
  }
}

/**
 * Finds the positions of all values in a JSON text (RFC 8259). Accepts what `JSON.parse` accepts, with at most 1000
 * levels. `JSON.parse` reports no positions, in some versions of Node not even of errors.
 *
 * @throws JsonSyntaxError
 */
export function locateJson(text: string): JsonNode {
  return new JsonReader(text).document()
}

const SPACE = /[ \t\r\n]*/y
// Avoid alternatives inside a repetition, because the matcher's stack would grow with the string. The ranges exclude
// control characters, `"` and `\`.
const STRING = /"[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\uffff]*)*"/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORD = /true|false|null/y
const MAX_DEPTH = 1000

/** Reads one JSON text from start to end. `#offset` is the position of the next character. */
class JsonReader {
  readonly #text: string
  #offset = 0

  constructor(text: string) {
    this.#text = text
  }

  document(): JsonNode {
    const node = this.#value(0)
    this.#match(SPACE)
    if (this.#offset < this.#text.length) this.#fail('nothing more')
    return node
  }

  #value(depth: number): JsonNode {
    this.#match(SPACE)
    const start = this.#offset
    if (depth > MAX_DEPTH) throw new JsonSyntaxError(this.#text, start, `more than ${MAX_DEPTH} levels deep`)
    const members = new Map<string, JsonNode>()
    const repeated = new Set<string>()
    if (this.#accept('{')) {
      this.#list('}', () => {
        const name = this.#memberName()
        if (!this.#accept(':')) this.#fail('":"')
        if (members.has(name)) repeated.add(name)
        members.set(name, this.#value(depth + 1))
      })
    } else if (this.#accept('[')) {
      this.#list(']', () => this.#value(depth + 1))
    } else if ([STRING, NUMBER, WORD].every((pattern) => this.#match(pattern) === undefined)) {
      this.#fail('a value')
    }
    return { start, end: this.#offset, members, repeated: [...repeated] }
  }

  /** Reads the entries of an object or array, which are separated by commas, and the closing bracket. */
  #list(closing: '}' | ']', readEntry: () => void): void {
    let more = !this.#accept(closing)
    while (more) {
      readEntry()
      more = this.#accept(',')
      if (!more && !this.#accept(closing)) this.#fail(`"," or "${closing}"`)
    }
  }

  #memberName(): string {
    this.#match(SPACE)
    return JSON.parse(this.#match(STRING) ?? this.#fail('a name in double quotes'))
  }

  #accept(character: string): boolean {
    this.#match(SPACE)
    if (this.#text[this.#offset] !== character) return false
    this.#offset++
    return true
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#offset
    const token = pattern.exec(this.#text)?.[0]
    if (token !== undefined) this.#offset += token.length
    return token
  }

  #fail(expected: string): never {
    const offset = this.#offset
    const isAtEnd = offset >= this.#text.length
    const actual = isAtEnd ? 'the end of the text' : nameOf(this.#text.slice(offset, offset + 2))
    throw new JsonSyntaxError(this.#text, offset, `expected ${expected}, found ${actual}`)
  }
}

function nameOf(beginning: string): string {
  if (beginning.startsWith('\ufeff')) return 'a byte order mark'
  if (beginning === '//' || beginning === '/*') return 'a comment, which JSON does not have'
  if (beginning.startsWith('"')) return 'a string that is in the wrong place, does not end, or holds a bad escape'
  if (beginning.startsWith("'")) return 'a single quote'
  return /^[{}[\]:,]/.test(beginning) ? `"${beginning[0]}"` : 'something else'
}
