import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const MOCHA = fileURLToPath(new URL('../../node_modules/mocha/bin/mocha.js', import.meta.url))

/** A test that a document names. */
export interface NamedTest {
  /** From the document's folder. */
  readonly file: string
  readonly title: string
}

/** The tests that a cell of a table names: of each file, which come one a line, the file first, all in code marks. */
export function testsNamedIn(cell: string): readonly NamedTest[] {
  return cell.split('<br>').flatMap((part) => {
    const [file = '', ...titles] = codesIn(part)
    return titles.map((title) => ({ file, title }))
  })
}

export function codesIn(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)
}

/** Those that there are not, by what mocha finds in their files without running any. @param folder of the document */
export async function missingAmong(named: readonly NamedTest[], folder: string): Promise<readonly string[]> {
  const scratch = await mkdtemp(join(tmpdir(), 'test-titles-'))
  try {
    const output = join(scratch, 'titles.json')
    const options = ['--no-config', '--dry-run', '--reporter', 'json', '--reporter-option', `output=${output}`]
    const paths = new Set(named.map(({ file }) => join(folder, file)))
    await promisify(execFile)(process.execPath, ['--import', 'tsx', MOCHA, ...options, ...paths], {
      timeout: 50_000,
      maxBuffer: 64 * 1024 * 1024,
    })
    const { tests } = JSON.parse(await readFile(output, 'utf8')) as { tests: NamedTest[] }
    const there = new Set(tests.map(({ file, title }) => `${file}: ${title}`))
    return named.map(({ file, title }) => `${join(folder, file)}: ${title}`).filter((one) => !there.has(one))
  } finally {
    await rm(scratch, { recursive: true })
  }
}
