import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { startAprsIs } from '../../../../fixtures/aprsis/server.ts'
import { draftFor } from '../../../../sidecar/operator/init/configuration.ts'
import type { Conversation } from '../../../../sidecar/operator/init/conversation.ts'
import { init, nextStep } from '../../../../sidecar/operator/init/init.ts'
import type { Answers } from '../../../../sidecar/operator/init/questions.ts'
import { writeCredentials } from '../../../support/credential-files.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { TYPESCRIPT } from '../../../support/typescript/options.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))
const NOTHING_FOUND = { hasCertificate: false, serviceAccount: undefined, signingKey: undefined }

/** A conversation with an operator who types these lines and then ends the input. */
function operatorWho(...lines: readonly string[]) {
  const shown: string[] = []
  const remaining = [...lines]
  const conversation: Conversation = {
    isInteractive: true,
    say: (line) => void shown.push(line),
    async ask(question) {
      shown.push(question)
      const line = remaining.shift()
      if (line === undefined) throw new Error('the input has ended')
      return line
    },
    close() {},
  }
  return { ...conversation, shown }
}

const NOBODY: Conversation = {
  isInteractive: false,
  say() {},
  ask: () => Promise.reject(new Error('there is no terminal')),
  close() {},
}

describe('A configuration written by --init', () => {
  const folder = temporaryFolder()
  const written = async () => JSON.parse(await readFile(folder.path('sidecar.json'), 'utf8')) as unknown
  const initialize = (answers: Answers, conversation = NOBODY) => init(folder.path(), answers, conversation)

  /** Runs the command as operators do, without a terminal. */
  async function runCommand(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const child = spawn(process.execPath, [...TYPESCRIPT, 'sidecar/main.ts', ...args], {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    const [code] = (await once(child, 'close')) as [number]
    return { code, output }
  }

  // Shows: sidecar C12.14.
  it('--init writes a configuration from flags, checks it live and shows the next step', async () => {
    const upstream = await startAprsIs()
    try {
      const target = folder.path('new/config')
      const flags = ['--callsign', 'w1aw-10', '--port', '8443', '--webpush-subject', 'mailto:operator@example.org']
      const { code, output } = await runCommand(['--init', target, ...flags], {
        SIDECAR_APRSIS_HOST: upstream.host,
        SIDECAR_APRSIS_PORT: String(upstream.port),
      })
      expect(code, output).to.equal(0)
      const file = `${target}/sidecar.json`
      expect(output).to.match(/^ok {3}APRS-IS login as W1AW-16 at \S+: verified$/m)
      expect(output.trimEnd().split('\n').at(-1)).to.equal(`Next: mesh-companion-sidecar --config ${file}`)
      expect(JSON.parse(await readFile(file, 'utf8'))).to.deep.equal({
        listen: { trustProxy: ['127.0.0.1'], port: 8443 },
        aprsis: { callsign: 'W1AW-10', passcode: 25988 },
        push: { webpush: { subject: 'mailto:operator@example.org' } },
      })
      expect((await stat(file)).mode & 0o777).to.equal(0o640)
    } finally {
      await upstream.close()
    }
  })

  it('--init writes the file even if the live check fails, and prints what to do', async () => {
    const upstream = await startAprsIs()
    await upstream.close()
    const { code, output } = await runCommand(['--init', folder.path()], {
      SIDECAR_APRSIS_HOST: upstream.host,
      SIDECAR_APRSIS_PORT: String(upstream.port),
    })
    expect(code).to.equal(1)
    const file = folder.path('sidecar.json')
    expect(output).to.match(/^fail APRS-IS login/m)
    expect(output.trimEnd().split('\n').at(-1)).to.equal(
      `Next: correct in ${file} what the lines above say, then run mesh-companion-sidecar --config ${file} --check --live`,
    )
  })

  it("--init prints the next command with sudo if it wrote the service's settings", () => {
    const file = '/etc/mesh-companion/sidecar.json'
    expect(nextStep(file, true)).to.equal('Next: sudo systemctl enable --now mesh-companion-sidecar')
    expect(nextStep(file, false)).to.include(`run sudo mesh-companion-sidecar --config ${file} --check --live`)
    expect(nextStep('elsewhere/sidecar.json', false)).not.to.include('sudo')
  })

  it('--init uses the default of each setting if there is no flag and no terminal', async () => {
    expect(await initialize({})).to.deep.equal({ kind: 'written', file: folder.path('sidecar.json') })
    expect(await written()).to.deep.equal({
      listen: { trustProxy: ['127.0.0.1'], port: 8080 },
      aprsis: { callsign: 'N0CALL-10', passcode: 13023 },
    })
  })

  // Shows: sidecar C12.14.
  it('--init never replaces an existing configuration', async () => {
    await writeFile(folder.path('sidecar.json'), 'mine')
    const { code, output } = await runCommand(['--init', folder.path()])
    expect({ code, output }).to.deep.equal({
      code: 1,
      output: `${folder.path('sidecar.json')} exists, and --init overwrites nothing. Name another folder, or move the file away.\n`,
    })
    expect(await readFile(folder.path('sidecar.json'), 'utf8')).to.equal('mine')
  })

  // Shows: sidecar C12.14.
  it('--init refers to key files and certificates without copying their text', async () => {
    const names = { certFile: 'fullchain.pem', keyFile: 'privkey.pem', serviceAccountFile: 'firebase.json' }
    await writeCredentials(folder.path(), { ...names, apnsKeyFile: 'AuthKey_ABC1234567.p8' })
    const answers = { callsign: 'W1AW', 'apns-team-id': 'DEF7654321', 'apns-topic': 'org.example.aprs' }
    expect(await initialize(answers)).to.include({ kind: 'written' })
    expect(await written()).to.deep.equal({
      listen: { host: '::', certFile: 'fullchain.pem', keyFile: 'privkey.pem', port: 443 },
      aprsis: { callsign: 'W1AW', passcode: 25988 },
      push: {
        fcm: { serviceAccountFile: 'firebase.json' },
        apns: {
          keyFile: 'AuthKey_ABC1234567.p8',
          keyId: 'ABC1234567',
          teamId: 'DEF7654321',
          topic: 'org.example.aprs',
        },
      },
    })
  })

  it('--init writes the absolute path of a key file outside its folder', async () => {
    await mkdir(folder.path('keys'))
    await mkdir(folder.path('config'))
    await writeCredentials(folder.path('keys'), { serviceAccountFile: 'firebase.json' })
    const file = folder.path('keys/firebase.json')
    await init(folder.path('config'), { 'fcm-key': file }, NOBODY)
    const text = await readFile(folder.path('config/sidecar.json'), 'utf8')
    expect(JSON.parse(text).push).to.deep.equal({ fcm: { serviceAccountFile: file } })
  })

  it('--init in a folder of /etc puts the database below /var/lib', () => {
    const database = (place: string) => draftFor({}, NOTHING_FOUND, place).database
    expect(database('/etc/mesh-companion')).to.equal('/var/lib/mesh-companion/sidecar.sqlite')
    expect(database('/etc')).to.equal(undefined)
    expect(database('/srv/etc/mesh')).to.equal(undefined)
  })

  const WRONG: readonly (readonly [Answers, RegExp])[] = [
    [{ callsign: 'W1AW_10' }, /^--callsign: aprsis\.callsign: /],
    [{ port: '70000' }, /^--port: listen\.port: must be 0 to 65535/],
    [{ port: 'https' }, /^--port: listen\.port: /],
    [{ port: '9090' }, /^--port: admin\.port: is the same as listen\.port/],
    [{ 'fcm-key': 'missing.json' }, /^--fcm-key: push\.fcm\.serviceAccountFile: .*ENOENT/],
    [{ 'apns-topic': 'org.example.aprs' }, /^--apns-topic is given without --apns-key$/],
    [{ 'webpush-subject': 'operator' }, /^--webpush-subject: push\.webpush\.subject: /],
  ]
  for (const [answers, reason] of WRONG)
    it(`--init refuses ${JSON.stringify(answers)}`, async () => {
      const outcome = await initialize(answers)
      expect(outcome).to.include({ kind: 'wrong_flag' })
      expect('reason' in outcome && outcome.reason).to.match(reason)
      expect(existsSync(folder.path('sidecar.json'))).to.equal(false)
    })

  it('--init names the missing flag --apns-key-id if an APNs key is given without it', async () => {
    await writeCredentials(folder.path(), { apnsKeyFile: 'key.p8' })
    const outcome = await initialize({ 'apns-key': folder.path('key.p8') })
    expect('reason' in outcome && outcome.reason).to.match(/^--apns-key-id: push\.apns\.keyId: is missing/)
  })

  // Shows: sidecar C12.14.
  it('--init on a terminal explains a wrong answer and asks again', async () => {
    await writeCredentials(folder.path(), { serviceAccountFile: 'firebase.json' })
    const operator = operatorWho('W1AW!', 'W1AW-10', '', '-', '', '')
    expect(await initialize({}, operator)).to.include({ kind: 'written' })
    expect(await written()).to.deep.equal({
      listen: { trustProxy: ['127.0.0.1'], port: 8080 },
      aprsis: { callsign: 'W1AW-10', passcode: 25988 },
    })
    expect(operator.shown[1]).to.match(/^aprsis\.callsign: /)
    expect(operator.shown[0])
      .to.match(/ \[N0CALL-10\]: $/)
      .and.equal(operator.shown[2])
    expect(operator.shown.some((line) => line.endsWith(' [firebase.json]: '))).to.equal(true)
  })

  it('--init does not ask for a setting that was passed as a flag', async () => {
    const operator = operatorWho('', '', '', '')
    await initialize({ callsign: 'W1AW-10', port: '8081' }, operator)
    expect(operator.shown.filter((line) => line.endsWith(': ')).length).to.equal(3)
    expect(operator.shown.join('\n')).not.to.match(/Callsign|Port/)
  })

  it('--init writes no file if the operator ends the input', async () => {
    const outcome = await initialize({}, operatorWho('W1AW-10'))
    expect(outcome).to.include({ kind: 'not_written' })
    expect(existsSync(folder.path('sidecar.json'))).to.equal(false)
  })

  it('--init reports a folder without write permission', async () => {
    await writeFile(folder.path('file'), '')
    const outcome = await init(folder.path('file'), {}, NOBODY)
    expect('reason' in outcome && outcome.reason).to.match(/sidecar\.json cannot be written \((?:EEXIST|ENOTDIR)\)/)
  })
})
