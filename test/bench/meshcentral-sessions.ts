import { createHmac, randomBytes } from 'node:crypto'
import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { Agent, get } from 'node:https'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../fixtures/free-port.ts'
import { keyOfHandle } from '../../plugin/host/revocations.ts'
import { SESSION_KEY } from '../meshcentral/support/laboratory.ts'
import { type MeshSetup, setUpMesh } from '../meshcentral/support/mesh-setup.ts'
import { sessionOf } from '../meshcentral/support/session.ts'
import { until } from '../support/until.ts'
import { alone, beside, type Measurement, median, medians, repeat, takeTurns } from './measurement.ts'
import { allowRenewals, visitorOf } from './meshcentral-visitor.ts'
import { usageOf } from './process-usage.ts'

const COUNTS = [1, 100, 1_000, 10_000, 20_000]
/**
 * Many short rounds, because other load and garbage collections change a single round by more than the difference to be
 * measured.
 */
const ROUNDS = 21
/** Requests of a signed-in user: the page of 1.4 MB, and one of its small files. */
const KINDS = [
  { name: 'page', path: '', requests: 20 },
  { name: 'file', path: 'scripts/common-0.0.1.js', requests: 400 },
]
const CONNECTIONS = 4
/** Number of a stranger's requests in a round. */
const STRANGERS = 100
const PROBE = fileURLToPath(new URL('memory-probe.cjs', import.meta.url))
const NEVER_MS = 3_600_000
const PEER = 'built-in, which keeps nothing of a session on the server'

interface Side {
  readonly setup: MeshSetup
  /** Values of the header `Cookie`, one for each session. */
  cookies: readonly string[]
  readonly memory: string
}

/**
 * Measures the cost of a signed-in user's request, and the memory of stored sessions. One login is real. The other
 * sessions are copies of it with other names, signed with the server's key, and with copies of its token record. They
 * are in the database when the server starts.
 */
export async function meshSessionsBench(): Promise<readonly Measurement[]> {
  const open: MeshSetup[] = []
  const side = async (strategy: 'ours' | 'built-in'): Promise<Side> => {
    const memory = join(process.cwd(), '.ci/output', `kept-${strategy}-${process.pid}.jsonl`)
    await mkdir(dirname(memory), { recursive: true })
    const setup = await setUpMesh({
      strategy,
      port: await freePort(),
      nodeOptions: ['--expose-gc', '--require', PROBE],
      env: { MEMORY_PROBE_FILE: memory, MEMORY_PROBE_MS: String(NEVER_MS) },
    })
    open.push(setup)
    return { setup, memory, cookies: [] }
  }
  try {
    const [product, peer] = [await side('ours'), await side('built-in')]
    const sessions = new Map<Side, Session>()
    for (const item of [product, peer]) sessions.set(item, await realSession(item.setup))
    const rows: Measurement[] = []
    const held: Record<'ours' | 'peer', Memory>[] = []
    for (const count of COUNTS) {
      for (const item of [product, peer]) await keepSessions(item, sessions.get(item) as Session, count)
      held.push({ ours: await memoryOf(product), peer: await memoryOf(peer) })
      rows.push(...(await requestRows(product, peer, count)), await strangersRow(product, count))
    }
    const [few, many] = [held[0], held.at(-1)]
    for (const figure of ['heapUsed', 'rss'] as const) {
      const grown = (side: 'ours' | 'peer') => ((many?.[side][figure] ?? 0) - (few?.[side][figure] ?? 0)) / 1e6
      const name = `kept.${figure === 'rss' ? 'rss' : 'heap'}.${COUNTS.at(-1)}`
      rows.push(beside(name, 'MB more', { ours: grown('ours'), peer: grown('peer') }, PEER, 'less'))
    }
    return rows
  } finally {
    for (const setup of open) await setup.close()
  }
}

type Session = Awaited<ReturnType<typeof realSession>>

/** Returns a session from a real login, and its token record. `record` is undefined if the session has no tokens. */
async function realSession(setup: MeshSetup) {
  await allowRenewals(setup)
  const session = sessionOf(await visitorOf(setup, setup.person({ groups: ['everybody'] })), setup.url)
  if (session.oidcSignIn === undefined) return { session, record: undefined }
  const { handle } = session.oidcSignIn as { readonly handle: string }
  const record = await until('the record of its tokens', async () =>
    (await setup.data.records()).get(`meshcompaniontokens/${keyOfHandle(handle)}`),
  )
  return { session, record }
}

/** Restarts the server with this many sessions, and uses each once. */
async function keepSessions(side: Side, { session, record }: Session, count: number): Promise<void> {
  const names = Array.from({ length: count - side.cookies.length }, () => randomBytes(16).toString('base64url'))
  const records = names.map(
    (name) => `${JSON.stringify({ ...record, _id: `meshcompaniontokens/${keyOfHandle(name)}` })}\n`,
  )
  await side.setup.restart({}, async () => {
    if (record) await appendFile(join(side.setup.data.path, 'meshcentral.db'), records.join(''))
  })
  side.cookies = [...side.cookies, ...names.map((name) => cookiesOf(session, name))]
  await ask(side, '', CONNECTIONS)
  await ask(side, 'health.ashx', side.cookies.length)
}

function cookiesOf(session: Session['session'], handle: string): string {
  const signIn = session.oidcSignIn === undefined ? {} : { oidcSignIn: { ...session.oidcSignIn, handle } }
  const text = JSON.stringify({ ...session, ...signIn, x: randomBytes(6).toString('base64') })
  const cookie = `xid=${Buffer.from(text).toString('base64')}`
  // Signs as `keygrip` does.
  return `${cookie}; xid.sig=${createHmac('sha384', SESSION_KEY).update(cookie).digest('base64url')}`
}

interface Memory {
  readonly heapUsed: number
  readonly rss: number
}

/** Returns the memory of the server after a full garbage collection. */
async function memoryOf({ setup, memory }: Side): Promise<Memory> {
  const lines = async () => (await readFile(memory, 'utf8').catch(() => '')).split('\n').slice(0, -1)
  const countBefore = (await lines()).length
  process.kill(setup.server().pid, 'SIGUSR2')
  const line = await until('the memory', async () => (await lines())[countBefore])
  return JSON.parse(line) as Memory
}

async function requestRows(product: Side, peer: Side, count: number): Promise<readonly Measurement[]> {
  const rows: Measurement[] = []
  for (const { name, path, requests } of KINDS) {
    const run = (side: Side) => async () => {
      const { setup } = side
      const usage = usageOf(setup.server().pid)
      const usageBefore = usage.cpuMicroseconds()
      const waits = await ask(side, path, requests)
      return { cpu: (usage.cpuMicroseconds() - usageBefore) / requests, waits }
    }
    // Warms up both servers, which have just started.
    await run(product)()
    await run(peer)()
    const results = await takeTurns(ROUNDS, { ours: run(product), peer: run(peer) })
    const p99 = (side: 'ours' | 'peer') => {
      const waits = results[side].flatMap((round) => round.waits).toSorted((a, b) => a - b)
      return waits[Math.floor((waits.length - 1) * 0.99)] as number
    }
    rows.push(
      beside(`${name}.cpu.${count}`, 'us CPU', medians(results, 'cpu'), PEER, 'less'),
      beside(`${name}.p99.${count}`, 'ms', { ours: p99('ours'), peer: p99('peer') }, PEER, 'less'),
    )
  }
  return rows
}

/** The cost of a front-channel logout with a made-up sid, which any stranger can send. */
async function strangersRow({ setup }: Side, count: number): Promise<Measurement> {
  const usage = usageOf(setup.server().pid)
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
  const round = async () => {
    const usageBefore = usage.cpuMicroseconds()
    for (let call = 0; call < STRANGERS; call += 1) {
      const query = new URLSearchParams({ iss: setup.idp.issuer, sid: randomBytes(8).toString('hex') })
      await answered(`${setup.url}auth-oidc-frontchannel-logout?${query}`, '', agent)
    }
    return (usage.cpuMicroseconds() - usageBefore) / STRANGERS
  }
  await round()
  const rounds = await repeat(ROUNDS, round)
  agent.destroy()
  return alone(`frontchannel.cpu.${count}`, 'us CPU', median(rounds))
}

/** Uses each session in turn. @returns the duration of each answer, in milliseconds */
async function ask({ setup, cookies }: Side, path: string, requests: number): Promise<readonly number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, rejectUnauthorized: false })
  const waits: number[] = []
  let turn = 0
  const work = async () => {
    for (let index = turn++; index < requests; index = turn++) {
      const begun = performance.now()
      await answered(`${setup.url}${path}`, cookies[index % cookies.length] as string, agent)
      waits.push(performance.now() - begun)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, work))
  agent.destroy()
  return waits
}

function answered(address: string, cookie: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    get(
      address,
      { agent, headers: { cookie }, lookup: (_name, _options, done) => done(null, [LOOPBACK]) },
      (response) => {
        // An unauthenticated user gets the page too, but with a new session.
        if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode} at ${address}`))
        response.resume().on('end', resolve).on('error', reject)
      },
    ).on('error', reject)
  })
}

const LOOPBACK = { address: '127.0.0.1', family: 4 }
