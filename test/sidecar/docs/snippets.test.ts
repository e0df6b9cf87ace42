import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { callAt, registration } from '../../support/running-api.ts'
import { TYPESCRIPT } from '../../support/typescript/options.ts'
import { startWholeSidecar, type WholeSidecar } from '../../support/whole-sidecar.ts'
import { textOf } from './page.ts'

const PAGE = 'app-developers.md'
const SECTIONS = [
  '### Requests in code',
  '### POST /v1/register',
  '### POST /v1/sync',
  '### POST /v1/avatars',
  '### POST /v1/unregister',
]
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const LIMIT_MS = 60_000

/** The example of each section in a language, in the order of the page. */
function snippets(language: string, sections: readonly string[] = SECTIONS): readonly string[] {
  return sections.map((heading) => {
    const blocks = [...textOf(PAGE, heading).matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))]
    expect(blocks.length, `${language} in ${heading}`).to.equal(1)
    return blocks[0]?.[1] ?? ''
  })
}

describe('The code examples for app developers', () => {
  let whole: WholeSidecar
  beforeEach(async () => {
    whole = await startWholeSidecar()
    await whole.register('N0CALL')
    await callAt(`${whole.sidecar.url}/v1/register`, {
      ...registration('W1AW', { ssid: null }),
      ...{ avatarUpdate: true, avatarIcon: 'tower', avatarHash: 'icon:tower' },
    })
    await whole.receive('W1AW', 'N0CALL-7', 'Good morning{12')
  })
  afterEach(() => whole.close())

  const forThisServer = (text: string) => text.replaceAll('https://aprs.example.org', whole.sidecar.url)
  const run = async (program: string, ...words: readonly string[]) => {
    const { stdout } = await promisify(execFile)(program, words, { cwd: ROOT, timeout: LIMIT_MS })
    return stdout.trim().split('\n')
  }
  async function expectUnregistered() {
    const unknown = { callsign: 'N0CALL', ssid: 7, auth: 13023, deviceId: '5f0c1d2e8a9b47c6b3e4f1a2d0c9b8a7', since: 0 }
    expect((await whole.post('/v1/sync', unknown)).body.error).to.equal('not_registered')
  }

  // Shows: sidecar C15.10.
  it('the documented Python code sends all requests with the standard library alone', async function () {
    this.timeout(LIMIT_MS)
    if (spawnSync('python3', ['--version']).status !== 0) return this.skip()
    const key = snippets('py', ['### GET requests']).join('').trim()
    const program = [...snippets('py'), `try:\n    ${key}\nexcept Refused as refused:\n    print(refused.code)\n`].join(
      '\n',
    )
    expect(await run('python3', '-I', '-c', forThisServer(program))).to.deep.equal([
      "['Good morning']",
      '[]',
      'tower',
      'not_found',
    ])
    await expectUnregistered()
  })

  // Shows: sidecar C15.10.
  it('the documented curl commands send all requests', async function () {
    this.timeout(LIMIT_MS)
    if (spawnSync('curl', ['--version']).status !== 0) return this.skip()
    const silent = `curl() { command curl --silent --fail --write-out '\\n' "$@"; }\n`
    const [registered = '', synced = '', avatars = '', ended = ''] = await run(
      'bash',
      '-ec',
      forThisServer(silent + snippets('sh').join('\n')),
    )
    expect(JSON.parse(registered).messages).to.have.length(1)
    expect(JSON.parse(synced).messages).to.have.length(1)
    expect(JSON.parse(avatars).avatars).to.deep.equal({ W1AW: { icon: 'tower', image: '', hash: 'icon:tower' } })
    expect(JSON.parse(ended)).to.have.all.keys('serverTime')
    await expectUnregistered()
  })

  // Shows: sidecar C15.10.
  it('the documented TypeScript code sends all requests with the client', async function () {
    this.timeout(LIMIT_MS)
    const program = forThisServer(snippets('ts').join('\n')).replace(
      'mesh-companion/client',
      './sidecar/client/index.ts',
    )
    const printed = await run(process.execPath, ...TYPESCRIPT, '--input-type=module', '-e', program)
    expect(printed).to.deep.equal(["[ 'Good morning' ]", '[]', 'tower'])
    await expectUnregistered()
  })
})
