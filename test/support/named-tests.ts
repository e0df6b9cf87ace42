import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { inCode } from './documents.ts'
import { createFolder } from './file-folder.ts'

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
    const [file = '', ...titles] = inCode(part)
    return titles.map((title) => ({ file, title }))
  })
}

/** Those that there are not, by what mocha finds in their files without running any. @param folder of the document */
export async function missingAmong(named: readonly NamedTest[], folder: string): Promise<readonly string[]> {
  const scratch = await createFolder('test-titles')
  try {
    const output = join(scratch.path, 'titles.json')
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
    await scratch.remove()
  }
}
