import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export type Document = ReturnType<typeof readDocuments>[number]

/**
 * Reads README.md and the documentation pages of plugin and sidecar. Paths are relative to the root of the project,
 * with slashes.
 */
export function readDocuments() {
  const pages = ['plugin/docs', 'sidecar/docs'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name.replaceAll('\\', '/')}`),
  )
  return ['README.md', ...pages].map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}

/** @param path path relative to the root of the project */
export function readDocument(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/**
 * Returns the code blocks of a language in a Markdown text. Removes the indentation of blocks that are inside a list.
 */
export function codeBlocks(text: string, language: string): readonly string[] {
  return [...text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```$/gm)].flatMap(
    ([, indent = '', blockLanguage, code = '']) =>
      blockLanguage === language ? [code.replaceAll(new RegExp(`^${indent}`, 'gm'), '')] : [],
  )
}

/** Returns the text below a heading, up to the next heading of the same or a higher level. */
export function section(text: string, heading: string): string {
  const [, marks = ''] = /^(#+) /.exec(heading) ?? []
  const start = text.indexOf(`\n${heading}\n`)
  if (start < 0) throw new Error(`there is no heading "${heading}"`)
  const body = text.slice(start + heading.length + 2)
  const end = body.search(new RegExp(`^#{1,${marks.length}} `, 'm'))
  return end < 0 ? body : body.slice(0, end)
}

/** Returns the rows of all tables in a Markdown text, each as a list of cells. Leaves out the header rows. */
export function tableRows(text: string): readonly (readonly string[])[] {
  const rows = text.split('\n').map((line) =>
    line.startsWith('|')
      ? line
          .split(/(?<!\\)\|/)
          .slice(1, -1)
          .map((cell) => cell.trim())
      : undefined,
  )
  const isRule = (row: readonly string[] | undefined) => row?.every((cell) => /^-+$/.test(cell)) ?? false
  return rows.flatMap((row, index) => (row && !isRule(row) && !isRule(rows[index + 1]) ? [row] : []))
}

/** Returns the texts between backquotes. */
export function inCode(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)
}
