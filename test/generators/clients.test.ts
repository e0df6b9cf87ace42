import { cp, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { avatarHash } from '../../sidecar/api/requests/avatar.ts'
import { EXAMPLES } from '../sidecar/docs/page.ts'
import { startWholeSidecar, type WholeSidecar } from '../support/whole-sidecar.ts'
import { javaTools, pythonTools, run, type Tools, typescriptTools } from './tools.ts'

const SOURCES = fileURLToPath(new URL('.', import.meta.url))
const MINUTES = 60_000
const IMAGE = String(EXAMPLES.find(({ value }) => value.avatarUpdate === true)?.value.avatarImage)
const HASH = avatarHash('', IMAGE)

describe('A client generated from openapi.json', () => {
  let whole: WholeSidecar
  let folder = ''
  const address = () => whole.sidecar.url
  const document = () => `${address()}/v1/openapi.json`

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'generated-client-'))
    whole = await startWholeSidecar()
    // Register with the token that the generated clients use. Unregistering keeps a device whose token has changed.
    await whole.register('N0CALL', { pushToken: 'token', wantAcks: true })
    await whole.receive('W1AW', 'N0CALL-7', 'ack7')
    await whole.receive('W1AW', 'N0CALL-7', 'Good morning{12')
  })
  afterEach(async () => {
    await whole.close()
    await rm(folder, { recursive: true, force: true })
  })

  /** Checks what a phone sees that registers, syncs, sends its avatar, unregisters, and syncs again. */
  async function expectSeen(printed: () => Promise<string>) {
    const { body } = await whole.post('/v1/sync', { callsign: 'N0CALL', ssid: 7, auth: 13023, since: 0 })
    expect(JSON.parse(await printed())).to.include({
      ...{ text: 'Good morning', time: String(body.messages[0]?.time), newer: '0' },
      acked: 'ack 7',
      ...{ held: HASH, avatar: HASH, refused: 'not_registered' },
    })
  }

  // Shows: sidecar C15.8.
  it('the generated Kotlin client makes every API request and reads unknown errors', async function () {
    this.timeout(8 * MINUTES)
    const tools = await had(javaTools(), this)
    await openApiGenerator(tools, 'kotlin')
    const jars = await jarsIn(tools, 'client')
    const compiler = [...(await jarsIn(tools, 'tools')).filter((jar) => !jar.includes('openapi-generator')), ...jars]
    await java([
      ...['-cp', compiler.join(':'), 'org.jetbrains.kotlin.cli.jvm.K2JVMCompiler', '-no-stdlib', '-no-reflect'],
      ...['-nowarn', '-cp', jars.join(':'), '-d', 'client.jar', 'src/main', join(SOURCES, 'kotlin/Phone.kt')],
    ])
    const running = ['-cp', ['client.jar', ...jars].join(':'), 'PhoneKt', address(), IMAGE, HASH]
    let printed = ''
    await expectSeen(async () => {
      printed = await java(running)
      return printed
    })
    expect(JSON.parse(printed)).to.include({ unknown: 'unknown_default_open_api', push: 'W1AW' })
  })

  // Shows: sidecar C15.8.
  it('the generated Swift client has Int64 times, an ErrorCode enum and the server URL', async function () {
    this.timeout(8 * MINUTES)
    await openApiGenerator(await had(javaTools(), this), 'swift6')
    const model = (name: string) => readFile(join(folder, `Sources/OpenAPIClient/Models/${name}.swift`), 'utf8')
    for (const [name, members] of [
      [
        'RegisterBody',
        ['ssid: String', 'auth: Int', 'since: Int64?', 'wantHistory: Bool?', 'platform: Platform', 'pushToken: String'],
      ],
      ['RegisterBody', ['anySsid: Bool?', 'wantAcks: Bool?', 'blocked: [String]?']],
      ['Ack', ['seqId: String', 'kind: AckKind', 'time: Int64']],
      ['SyncAnswer', ['acks: [Ack]?', 'truncated: Bool?']],
      ['SyncBody', ['ssid: String', 'auth: Int', 'since: Int64']],
      ['SyncAnswer', ['serverTime: Int64', 'messages: [Message]', 'avatars: [String: String]']],
      ['Message', ['time: Int64', 'text: String', 'textBytes: String?']],
      ['AvatarsAnswer', ['avatars: [String: Avatar]']],
      ['ErrorAnswer', ['error: ErrorCode', 'details: [ErrorDetail]?']],
    ] as const) {
      const text = await model(name)
      for (const member of members) expect(text.split('\n'), name).to.include(`    public var ${member}`)
    }
    expect(await model('ErrorCode')).to.match(
      /enum ErrorCode: String[\s\S]*case notRegistered = "not_registered"[\s\S]*case unknownDefaultOpenApi/,
    )
    expect(await model('IosPush'))
      .to.include('public var fromCall: String')
      .and.include('public var aps: Aps')
    const requests = await readFile(join(folder, 'Sources/OpenAPIClient/APIs/DefaultAPI.swift'), 'utf8')
    expect(requests).to.include('func register(').and.include('func webPush(')
    const infrastructure = await readFile(join(folder, 'Sources/OpenAPIClient/Infrastructure/APIs.swift'), 'utf8')
    expect(infrastructure)
      .to.include(`basePath: String = "${address()}"`)
      .and.include('public static let shared = OpenAPIClientAPIConfiguration()')
  })

  // Shows: sidecar C15.8.
  it('the generated Python client makes every API request', async function () {
    this.timeout(8 * MINUTES)
    const python = join(await had(pythonTools(), this), 'venv/bin/python')
    const options = ['generate', '--url', document(), '--meta', 'none', '--output-path', 'generated']
    await run(folder, python, ['-m', 'openapi_python_client', ...options])
    await cp(join(SOURCES, 'python/phone.py'), join(folder, 'phone.py'))
    await expectSeen(() => run(folder, python, ['phone.py', address(), IMAGE, HASH]))
  })

  // Shows: sidecar C15.8.
  it('the generated TypeScript client compiles and makes every API request', async function () {
    this.timeout(8 * MINUTES)
    const modules = join(await had(typescriptTools(), this), 'node_modules')
    await symlink(modules, join(folder, 'node_modules'))
    await cp(join(SOURCES, 'typescript/phone.mjs'), join(folder, 'phone.mjs'))
    const runPackaged = (name: string, ...words: string[]) =>
      run(folder, join(folder, 'node_modules/.bin', name), words)
    await runPackaged('openapi-typescript', document(), '--output', 'generated.d.ts')
    const strict = ['--noEmit', '--allowJs', '--strict', '--noUncheckedIndexedAccess']
    await runPackaged('tsc', ...strict, '--module', 'nodenext', '--lib', 'es2023,dom', 'phone.mjs')
    await expectSeen(() => run(folder, process.execPath, ['phone.mjs', address(), IMAGE, HASH]))
  })

  // Disable the optimizing compiler: these programs end too soon to profit, and it would take half of the time.
  const java = (words: readonly string[]) =>
    run(folder, 'java', ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', ...words])

  async function openApiGenerator(tools: string, language: string) {
    const [generator = ''] = (await jarsIn(tools, 'tools')).filter((jar) => jar.includes('openapi-generator'))
    const options = ['-i', document(), '-o', folder, '--additional-properties=enumUnknownDefaultCase=true']
    await java(['-jar', generator, 'generate', '-g', language, ...options])
  }
})

async function had(tools: Promise<Tools>, test: Mocha.Context): Promise<string> {
  const outcome = await tools
  if (outcome.kind === 'installed') return outcome.folder
  process.stdout.write(`  left out: ${outcome.reason}\n`)
  return test.skip()
}

async function jarsIn(tools: string, part: string): Promise<readonly string[]> {
  return (await readdir(join(tools, part))).map((name) => join(tools, part, name))
}
