import { withoutByteOrderMark } from '../../config/json/byte-order-mark.ts'
import { jsonPath } from '../../config/json/json-path.ts'
import { type JsonNode, JsonSyntaxError, locateJson } from '../../config/json/json-text.ts'
import type { Problem } from '../../config/problem.ts'
import type { Terminal } from './terminal.ts'

/** A configuration file with valid JSON. */
export interface ConfigurationFile {
  /** The text without a byte order mark. */
  readonly text: string
  readonly config: unknown
  readonly node: JsonNode
}

/**
 * Reads a file. If the file cannot be read or is not JSON, prints the reason, with line and column, and returns
 * undefined.
 */
export function readConfigurationFile(file: string, terminal: Terminal): ConfigurationFile | undefined {
  const text = readText(file, terminal)
  if (text === undefined) return undefined
  try {
    return { text, node: locateJson(text), config: JSON.parse(text) }
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    terminal.err(`${file}:${error.line}:${error.column}: is not JSON: ${error.message}.\n`)
    return undefined
  }
}

function readText(file: string, terminal: Terminal): string | undefined {
  try {
    return withoutByteOrderMark(terminal.read(file))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
    terminal.err(`${file}: cannot be read${code}.\n`)
    return undefined
  }
}

/** Finds repeated names, because `JSON.parse` silently keeps only the last of two equal names. */
export function repeatedMembers(node: JsonNode, steps: readonly string[] = []): readonly Problem[] {
  const repeated = node.repeated.map((name) => ({
    path: jsonPath([...steps, name]),
    reason: 'occurs more than once',
    remedy: 'Keep one of them. Only the last one is used.',
  }))
  const deeper = [...node.members].flatMap(([name, inner]) => repeatedMembers(inner, [...steps, name]))
  return [...repeated, ...deeper]
}

/** Writes a new file and prints its name. If the write failed, prints the reason and returns false. */
export function createFile(file: string, text: string, terminal: Terminal): boolean {
  try {
    terminal.create(file, text)
    terminal.out(
      `${file}: written. It contains secrets: give it the owner and the permissions of the file that it replaces.\n`,
    )
    return true
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const reason =
      code === 'EEXIST' ? 'already exists and was not changed. Name a new file' : `cannot be written (${code})`
    terminal.err(`${file}: ${reason}.\n`)
    return false
  }
}
