import { execFile } from 'node:child_process'
import { chmod, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { type AprsIsServer, startAprsIs } from '../../fixtures/aprsis/server.ts'
import { makeCertificates } from '../../fixtures/certificate.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { createLog, type Settings, type Sidecar, startSidecar } from '../../sidecar/index.ts'
import { checkStart } from '../../sidecar/operator/commands/check.ts'
import { type DebianProgram, findDebianProgram } from '../idps/support/debian-packages.ts'
import { freshDatabase, runAt } from '../sidecar/store/postgres/shared-server.ts'
import { rejection } from '../sidecar/store/sqlite/temporary-stores.ts'
import { codeBlocks, readDocument, section } from '../support/documents.ts'
import { createFolder, type FileFolder } from '../support/file-folder.ts'
import { settingsOf } from '../support/read-settings.ts'
import { claim, type JsonBody, registration } from '../support/running-api.ts'
import { startProgram } from '../support/started-program.ts'
import { until } from '../support/until.ts'

const PASSWORD = 'h0rse-battery'
const [PAGE = ''] = codeBlocks(section(readDocument('sidecar/docs/postgresql.md'), '## Behind PgBouncer'), 'ini')
const WRONG =
  'database: A connection pooler in front of PostgreSQL does not keep one session per connection. Set "pool_mode = session"'

describe('PgBouncer in front of PostgreSQL', () => {
  let program: DebianProgram
  let address = ''
  let upstream: AprsIsServer
  let folder: FileFolder | undefined
  let caFile = ''
  let files: Readonly<Record<string, string>> = {}
  const log = createLog('error', { write: () => undefined })
  const closing: (() => Promise<unknown>)[] = []

  before(async function () {
    this.timeout(300_000)
    const installed = await findDebianProgram('pgbouncer', ['pgbouncer'])
    if (typeof installed === 'string') {
      process.stdout.write(`  left out: ${installed}\n`)
      this.skip()
    }
    program = installed
    const { ca, server } = await makeCertificates()
    files = { 'userlist.txt': `"mesh" "${PASSWORD}"\n`, 'key.pem': server.key, 'cert.pem': server.cert }
    folder = await createFolder('mesh-companion-authority')
    caFile = await folder.write('ca.pem', ca.cert)
    upstream = await startAprsIs()
  })
  after(async () => {
    await upstream?.close()
    await folder?.remove()
  })
  beforeEach(async () => {
    address = await freshDatabase()
  })
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  /** Returns the page's file for this database, and replaces each of `changes` in it. */
  function pageWith(...changes: readonly (readonly [string, string])[]): string {
    const { port, pathname } = new URL(address)
    const places = [
      ['host=db.example.org port=5432 dbname=mesh', `host=127.0.0.1 port=${port} dbname=${pathname.slice(1)}`],
      ['listen_addr = *', 'listen_addr = 127.0.0.1\nunix_socket_dir ='],
      ['listen_port = 6432', 'listen_port = PORT'],
      ...changes,
    ] as const
    return places.reduce((text, [from, to]) => {
      expect(text).to.include(from)
      return text.replace(from, to)
    }, PAGE)
  }

  /** Starts PgBouncer with this file, on a free port instead of PORT. @returns the port */
  async function pooler(ini: string): Promise<number> {
    const port = await freePort()
    const { path, remove } = await createFolder('mesh-companion-pgbouncer')
    closing.push(remove)
    await chmod(path, 0o755)
    // PgBouncer refuses to run as root. It then runs as another user, who must be able to read its key.
    const write = (name: string, text: string) => writeFile(join(path, name), text, { mode: 0o644 })
    for (const [name, text] of Object.entries(files)) await write(name, text)
    await write('pgbouncer.ini', ini.replace('PORT', String(port)).replaceAll('/etc/pgbouncer', path))
    const idOf = async (option: string) => Number((await promisify(execFile)('id', [option, 'nobody'])).stdout)
    const user = userInfo().uid === 0 ? { uid: await idOf('-u'), gid: await idOf('-g') } : {}
    const { command, env } = program
    const { stop } = await startProgram(command, [join(path, 'pgbouncer.ini')], { ...user, env, ready: /process up/ })
    closing.push(stop)
    return port
  }

  function settings(port: number, instance = 'one'): Settings {
    return settingsOf({
      listen: { port: 0 },
      admin: { port: 0 },
      aprsis: { callsign: 'N0CALL', host: upstream.host, port: upstream.port },
      database: `postgres://mesh:${PASSWORD}@localhost:${port}/mesh`,
      databaseTls: { caFile },
      instance,
    })
  }

  async function start(through: number, instance: string): Promise<Sidecar> {
    const sidecar = await startSidecar(settings(through, instance), log)
    closing.push(sidecar.close)
    return sidecar
  }

  async function post(sidecar: Sidecar, path: string, body: object): Promise<JsonBody> {
    const headers = { 'Content-Type': 'application/json' }
    const answer = await fetch(sidecar.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await answer.json()) as JsonBody
  }

  const texts = async (sidecar: Sidecar) =>
    (await post(sidecar, '/v1/sync', { ...claim('K1AB'), since: 0 })).messages?.map(({ text }) => text)

  // Shows: sidecar P1.10.
  it('sidecars start and sync through PgBouncer with the documented configuration', async () => {
    // A leftover in `public`, as from a start that did not set the schema.
    await runAt(address, 'CREATE FUNCTION public.now_ms() RETURNS bigint LANGUAGE sql AS $$ SELECT 0::bigint $$')
    const bouncer = await pooler(pageWith())
    const [a, b] = [await start(bouncer, 'a'), await start(bouncer, 'b')]
    await post(a, '/v1/register', registration('K1AB'))
    await upstream.until(() => upstream.clients().some(({ filter }) => filter.includes('K1AB')))
    upstream.inject('W2AW>APRS::K1AB-7   :good evening')
    await until('the message', async () => (await texts(b))?.length === 1)
    expect(await texts(a)).to.deep.equal(['good evening'])
    expect((await checkStart(settings(bouncer))).errors).to.deep.equal([])
    await Promise.all([a.close(), b.close()])
    expect(await texts(await start(bouncer, 'a'))).to.deep.equal(['good evening'])
    const where = "SELECT DISTINCT schemaname AS name FROM pg_tables WHERE tablename IN ('clock', 'ring', 'lease')"
    expect(await runAt(address, where)).to.deep.equal([{ name: 'mesh_companion' }])
  })

  it('reports a wrong password and an unknown database behind PgBouncer', async () => {
    const bouncer = await pooler(pageWith())
    const { database } = settings(bouncer)
    for (const [wrong, says] of [
      [database.replace(PASSWORD, 'no'), /^database: PostgreSQL does not accept the password/],
      [database.replace(/mesh$/, 'no'), /^database: PostgreSQL (has no such database|does not let the sidecar in)/],
    ] as const) {
      const { errors } = await checkStart({ ...settings(bouncer), database: wrong })
      expect(errors.join()).to.match(says)
    }
  })

  for (const mode of ['pool_mode=transaction pool_size=30', 'pool_mode=statement pool_size=30']) {
    // Shows: sidecar P1.10.
    it(`refuses PgBouncer with ${mode.split(' ')[0]} before any change, with a remedy`, async () => {
      const bouncer = await pooler(pageWith(['pool_mode=session pool_size=30', mode]))
      const { errors } = await checkStart(settings(bouncer))
      expect(errors).to.have.length(1)
      expect(errors[0]).to.include(WRONG)
      expect((await rejection(start(bouncer, 'one'))).code).to.equal('database_pooled')
      expect(await runAt(address, "SELECT 1 FROM pg_namespace WHERE nspname = 'mesh_companion'")).to.deep.equal([])
    })
  }
})
