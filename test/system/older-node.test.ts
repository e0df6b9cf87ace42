import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { TYPESCRIPT } from '../support/typescript/options.ts'

const PACKAGE = JSON.parse(readFileSync('package.json', 'utf8'))
const SENTENCE =
  'mesh-companion needs Node.js 20.19 or newer, and this is Node.js 18.20.4: install a newer one, for example from https://nodejs.org/.\n'
const SCRIPTS = ['start', 'host', 'sidecar', 'check', 'fixtures', 'example']
const COMMANDS = ['sidecar/command.ts', 'plugin/command.ts']

describe('The commands on an older Node.js', () => {
  const folder = temporaryFolder()
  /** Returns the output of a command that believes to run on Debian 12's Node.js. */
  async function saidBy(args: readonly string[]) {
    const pretends = folder.path('pretend.cjs')
    await writeFile(
      pretends,
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.4' } })",
    )
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--require', pretends, ...args], {
      encoding: 'utf8',
    })
    return { status, stdout, stderr }
  }

  // Shows: sidecar C6.7.
  for (const name of SCRIPTS)
    it(`npm run ${name} names the Node.js version that it needs, and exits with 78`, async () => {
      const [node, ...args] = String(PACKAGE.scripts[name]).split(' ')
      expect(node).to.equal('node')
      expect(await saidBy(args)).to.deep.equal({ status: 78, stdout: '', stderr: SENTENCE })
    })

  // Shows: sidecar C6.7.
  for (const command of COMMANDS)
    it(`${command} names the Node.js version that it needs, and exits with 78`, async () => {
      expect(await saidBy([...TYPESCRIPT, command])).to.deep.equal({ status: 78, stdout: '', stderr: SENTENCE })
    })

  it('every command in bin checks for the Node.js version in engines', () => {
    expect(PACKAGE.engines.node).to.equal('>=20.19.0')
    expect(Object.values(PACKAGE.bin)).to.have.members(COMMANDS.map((path) => `dist/${path.replace(/\.ts$/, '.js')}`))
  })
})
