import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inCode, section } from '../../support/documents.ts'

const FOLDER = fileURLToPath(new URL('../../../sidecar/docs', import.meta.url))

/** Names of the sidecar's pages. */
export const PAGES: readonly string[] = readdirSync(FOLDER).filter((name) => name.endsWith('.md'))

/** A page's text, or what stands below one of its headings up to the next heading of that rank or above. */
export function textOf(page: string, heading?: string): string {
  const text = readFileSync(join(FOLDER, page), 'utf8')
  return heading === undefined ? text : section(text, heading)
}

/** Returns the rows of all tables in `text` with this first heading, each a list of cells. */
export function rowsIn(text: string, first: string): readonly (readonly string[])[] {
  const tables = text.match(/(?:^\|.*\|\n)+/gm) ?? []
  const rows = tables
    .map((table) => table.trimEnd().split('\n').map(cellsOf))
    .filter(([head]) => head?.[0] === first)
    .flatMap(([, , ...body]) => body)
  if (rows.length === 0) throw new Error(`There is no table whose first heading is "${first}".`)
  return rows
}

function cellsOf(line: string): readonly string[] {
  return line
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim())
}

/** Returns the code in a cell. */
export const codesIn = (cell = ''): readonly string[] => inCode(cell)

/** Returns the code in the first cells of these rows. */
export function namesIn(text: string, first: string): readonly string[] {
  return rowsIn(text, first).flatMap(([cell]) => codesIn(cell))
}

export interface Example {
  readonly page: string
  /** The name in the comment above the example: a schema of the API. Empty for a configuration. */
  readonly name: string
  readonly value: Readonly<Record<string, unknown>>
}

/** All examples in JSON, except those with comments inside. */
export const EXAMPLES: readonly Example[] = PAGES.flatMap((page) =>
  [...textOf(page).matchAll(/^(?:<!-- (\w+) -->\n)?```json\n([\s\S]*?)^```$/gm)].map(([, name = '', text = '']) => ({
    page,
    name,
    value: JSON.parse(text),
  })),
)
