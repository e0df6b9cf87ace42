import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { startAprsIs } from '../../fixtures/aprsis/server.ts'
import { startFcm } from '../../fixtures/push/fcm.ts'
import { passcodeOf } from '../../sidecar/index.ts'
import { errorOf } from '../support/error-of.ts'
import { createFolder, type FileFolder } from '../support/file-folder.ts'
import { callAt, claim, registration } from '../support/running-api.ts'
import { startProgram } from '../support/started-program.ts'
import { TYPESCRIPT } from '../support/typescript/options.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)
const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string }
const ARCHIVE = `mesh-companion-sidecar-${version}-${process.platform}-${process.arch}.tgz`
const COMMAND = 'mesh-companion/bin/mesh-companion-sidecar'

describe("The sidecar's package without the plugin", function () {
  this.timeout(180_000)
  let folder: FileFolder
  let archive: string
  let entries: readonly string[]

  const pack = async (name: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) => {
    const place = join(folder.path, name)
    const program = [...TYPESCRIPT, 'fixtures/sidecar-package/pack.ts', '--out', place, ...args]
    await run(process.execPath, program, { cwd: ROOT, env: { ...process.env, ...env } })
    return join(place, ARCHIVE)
  }

  before(async () => {
    folder = await createFolder('sidecar-package')
    archive = await pack('first')
    entries = (await run('tar', ['-tzf', archive], { maxBuffer: 2 ** 24 })).stdout.trimEnd().split('\n')
  })
  after(() => folder.remove())

  // Shows: sidecar C12.13.
  it("the sidecar's package has a systemd unit, documents and libraries, but no plugin", () => {
    const inside = entries.map((entry) => entry.replace(/^mesh-companion\//, ''))
    expect(inside).to.include.members([
      'bin/mesh-companion-sidecar',
      'sidecar/deploy/mesh-companion-sidecar.service',
      'sidecar/docs/quick-start.md',
      'node_modules/sqlite3/build/Release/node_sqlite3.node',
      'node_modules/firebase-admin/LICENSE',
    ])
    const tops = new Set(inside.map((entry) => entry.split('/')[0]))
    expect([...tops].sort()).to.deep.equal([
      '',
      'CHANGELOG.md',
      'LICENSE',
      'THIRD-PARTY-LICENSES',
      'bin',
      'dist',
      'node_modules',
      'package.json',
      'sbom.cdx.json',
      'sidecar',
    ])
    const unwanted =
      /^dist\/(?:plugin|fixtures|test)\/|\.ts$|\.map$|^node_modules\/(?:express|openid-client|mocha|tsx|typescript|esbuild|node-gyp|prebuild-install|@google-cloud)\//
    expect(inside.filter((entry) => unwanted.test(entry))).to.deep.equal([])
  })

  // Shows: sidecar C12.13.
  it("building the sidecar's package a second time gives the same bytes", async () => {
    const secondArchive = await pack('second')
    expect((await readFile(secondArchive)).equals(await readFile(archive))).to.equal(true)
  })

  // Shows: sidecar C12.13.
  it('the sidecar from its package registers a phone, receives a message and pushes it', async () => {
    const installed = await createFolder('installed')
    const [upstream, fcm] = await Promise.all([startAprsIs(), startFcm()])
    let stop = async () => {}
    try {
      await run('tar', ['-xzf', archive, '-C', installed.path])
      const config = {
        listen: { port: 0 },
        admin: { port: 0 },
        aprsis: { host: upstream.host, port: upstream.port, callsign: 'N0CALL-10', passcode: passcodeOf('N0CALL') },
        push: { fcm: fcm.settings },
      }
      await installed.write('sidecar.json', JSON.stringify(config))
      const sidecar = await startProgram(
        join(installed.path, COMMAND),
        ['--config', join(installed.path, 'sidecar.json')],
        {
          ready: /"listening"/,
          env: { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, NODE_PATH: '', NODE_OPTIONS: '' },
        },
      )
      stop = sidecar.stop
      const [, url] = /"url":"([^"]+)"/.exec(sidecar.output()) ?? []
      const token = `phone:${'t'.repeat(120)}`
      const { status } = await callAt(`${url}/v1/register`, registration('W1AW', { pushToken: token }))
      expect(status).to.equal(200)
      await upstream.until(() => upstream.clients().some(({ filter }) => filter.includes('W1AW-7')))
      upstream.inject('K1ABC>APRS,TCPIP*::W1AW-7   :Hello{1')
      const push = await fcm.waitFor((message) => message.token === token)
      expect(push.data).to.include({ fromCall: 'K1ABC', to: 'W1AW-7' })
      const { body } = await callAt(`${url}/v1/sync`, { ...claim('W1AW'), since: 0 })
      expect(body.messages.map(({ from, text }) => [from, text])).to.deep.equal([['K1ABC', 'Hello']])
    } finally {
      await stop()
      await Promise.all([upstream.close(), fcm.close(), installed.remove()])
    }
  })

  // Shows: sidecar C12.13.
  it("the sidecar's package for another machine has SQLite's published binary", async () => {
    const [machine, text] = [process.arch === 'arm64' ? 'linux-x64' : 'linux-arm64', 'binary of another processor']
    const published = await createFolder('published')
    await mkdir(join(published.path, 'build/Release'), { recursive: true })
    await published.write('build/Release/node_sqlite3.node', text)
    const archived = (await run('tar', ['-czC', published.path, 'build'], { encoding: 'buffer' })).stdout
    const requestedPaths: string[] = []
    const server = createServer(({ url = '' }, answer) => {
      requestedPaths.push(url)
      answer.end(archived)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    try {
      const { port } = server.address() as AddressInfo
      const mirror = { npm_config_sqlite3_binary_host: `http://127.0.0.1:${port}`, npm_config_cache: published.path }
      const place = dirname(await pack('other', ['--machine', machine], mirror))
      expect(requestedPaths.length).to.equal(1)
      expect(requestedPaths[0]).to.match(new RegExp(`/sqlite3-v[\\d.]+-napi-v\\d+-${machine}\\.tar\\.gz$`))
      expect(await readdir(place)).to.include(`mesh-companion-sidecar-${version}-${machine}.tgz`)
      const binary = join(place, 'mesh-companion/node_modules/sqlite3/build/Release/node_sqlite3.node')
      expect(await readFile(binary, 'utf8')).to.equal(text)
    } finally {
      server.close()
      await published.remove()
    }
  })

  it('makes no package for another machine if its SQLite binary cannot be fetched', async () => {
    const machine = process.arch === 'arm64' ? 'linux-x64' : 'linux-arm64'
    const nowhere = {
      npm_config_sqlite3_binary_host: 'http://127.0.0.1:9',
      npm_config_cache: join(folder.path, 'cache'),
    }
    const error = await errorOf(pack('failed', ['--machine', machine], nowhere))
    expect(String(error)).to.include(`SQLite's binary for ${machine} could not be fetched.`)
    expect(await readdir(join(folder.path, 'failed'))).to.deep.equal(['mesh-companion'])
  })
})
