import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
const MOCHA = fileURLToPath(new URL('../../node_modules/mocha/bin/mocha.js', import.meta.url))

describe('the table of what the plugin does better in MeshCentral', () => {
  it('names tests that there are, at least one in each row', async () => {
    const rows = (await readFile(join(FOLDER, 'README.md'), 'utf8'))
      .split('\n')
      .filter((line) => line.split(' | ').length === 4 && !/^\| (---|row) /.test(line))
    expect(rows).to.have.length(26)
    const named = rows.map(namedTests)
    expect(named.filter((tests) => tests.length === 0)).to.deep.equal([])
    const files = [...new Set(named.flat().map(({ file }) => file))]
    const there = await titlesIn(files)
    expect(named.flat().filter(({ file, title }) => !there.has(`${file} ${title}`))).to.deep.equal([])
  }).timeout(60_000)
})

function namedTests(row: string): readonly { readonly file: string; readonly title: string }[] {
  const cell = row.slice(0, -2).split(' | ')[3] ?? ''
  return cell.split('<br>').flatMap((part) => {
    const [file = '', ...titles] = [...part.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text)
    return titles.map((title) => ({ file, title }))
  })
}

/** File and title of each test in these files, as mocha finds them without running any. */
async function titlesIn(files: readonly string[]): Promise<ReadonlySet<string>> {
  const scratch = await mkdtemp(join(tmpdir(), 'test-titles-'))
  try {
    const output = join(scratch, 'titles.json')
    const options = ['--no-config', '--dry-run', '--reporter', 'json', '--reporter-option', `output=${output}`]
    await promisify(execFile)(
      process.execPath,
      ['--import', 'tsx', MOCHA, ...options, ...files.map((file) => join(FOLDER, file))],
      { timeout: 50_000, maxBuffer: 64 * 1024 * 1024 },
    )
    const { tests } = JSON.parse(await readFile(output, 'utf8')) as { tests: { file: string; title: string }[] }
    return new Set(tests.map(({ file, title }) => `${basename(file)} ${title}`))
  } finally {
    await rm(scratch, { recursive: true })
  }
}
