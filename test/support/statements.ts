import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readDocument, tableRows } from './documents.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Pages with the statements. The keys are the words before the ids in a comment. */
const PAGES = {
  plugin: 'test/plugin/README.md',
  meshcentral: 'test/meshcentral/README.md',
  sidecar: 'test/sidecar/README.md',
} as const

/** A statement of a specification: a row of a page, with its id in the first cell. */
export interface Statement {
  /** The id with the key of its page, such as `sidecar 2.4`. */
  readonly id: string
  /** The cells after the id. */
  readonly cells: readonly string[]
}

/** A comment such as `// Shows: sidecar 2.4, C3.1.` */
export interface Tag {
  /** Empty if the comment does not have this form. */
  readonly ids: readonly string[]
  /** Path from the root, with slashes. */
  readonly file: string
  readonly line: number
  /** Title of the test or `describe` below the comment; undefined if there is neither. */
  readonly title: string | undefined
}

const TAG = /^\s*\/\/ Shows: (\w+) ([\w., ]+)\.$/
/** Also matches helpers that declare tests, whose names begin with `it`. */
const TEST = /^\s*(?:for \(.*\) )?(?:it|describe)(?:[A-Z]\w*)?(?:\.\w+)?\(\s*(.*)/
const LOOP = /^\s*for \(/

/** Returns the statements of all pages. Reads only tables with the id in their first column. */
export function readStatements(): readonly Statement[] {
  return Object.entries(PAGES).flatMap(([page, path]) => {
    const rows = tableRows(readDocument(path)).filter(([id = '']) => /^[A-Z]?\d+(\.\d+)?$/.test(id))
    return rows.map(([id = '', ...cells]) => ({ id: `${page} ${id}`, cells }))
  })
}

/** Returns the comments of all tests that name statements. */
export function readTags(): readonly Tag[] {
  const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .map((name) => `test/${name.replaceAll('\\', '/')}`)
    .filter((name) => name.endsWith('.ts'))
  return files.toSorted().flatMap((file) => tagsIn(readDocument(file), file))
}

/** @param source text of a file with tests */
export function tagsIn(source: string, file: string): readonly Tag[] {
  const lines = source.split('\n')
  return lines.flatMap((text, index) => {
    if (!/^\s*\/\/ *Shows:/i.test(text)) return []
    const [, page, list] = TAG.exec(text) ?? []
    const ids = list?.split(', ').map((id) => `${page} ${id}`) ?? []
    return [{ ids, file, line: index + 1, title: titleBelow(lines, index) }]
  })
}

function titleBelow(lines: readonly string[], index: number): string | undefined {
  let next = index + 1
  while (/^\s*\/\//.test(lines[next] ?? '')) next += 1
  // Biome moves a comment above the head of a loop, which may have many lines.
  if (LOOP.test(lines[next] ?? '')) while (next < lines.length && !TEST.test(lines[next] ?? '')) next += 1
  const [, rest] = TEST.exec(lines[next] ?? '') ?? []
  if (rest === undefined) return undefined
  const argument = rest === '' ? (lines[next + 1] ?? '').trim() : rest
  const [, , literal] = /^(['"`])((?:\\.|(?!\1).)*)\1/.exec(argument) ?? []
  // In a table of cases, the title is a variable. Its name helps to find the test.
  return literal?.replaceAll(/\\(.)/g, '$1') ?? argument.replace(/,.*/, '')
}
