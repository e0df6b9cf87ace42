import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { readCommandLine } from '../../fixtures/command-line.ts'
import { alteredProgram } from '../meshcentral/support/data-folder.ts'
import { type MeshSetup, type Person, setUpMesh } from '../meshcentral/support/mesh-setup.ts'
import { signIn } from '../meshcentral/support/session.ts'
import { runScript } from './npm-script.ts'

const USAGE = `Usage: npm run soak:meshcentral -- [--minutes N] [--rate N] [--users N] [--strategy NAME] [--again] [--without-events]

The memory of the real MeshCentral under logins. Each begins signed out at
MeshCentral and signed in at the IdP.

  --minutes N       10 by default
  --rate N          logins a second; 20 by default
  --users N         100 by default
  --strategy NAME   ours, by default, or built-in
  --again           where somebody is signed in already, so that each login also ends a session
  --without-events  where MeshCentral keeps no event log, which it holds in memory as a whole:
                    what grows then is the plugin`
const { values, refuse } = readCommandLine(USAGE, {
  minutes: { type: 'string', default: '10' },
  rate: { type: 'string', default: '20' },
  users: { type: 'string', default: '100' },
  strategy: { type: 'string', default: 'ours' },
  again: { type: 'boolean', default: false },
  'without-events': { type: 'boolean', default: false },
})
for (const name of ['minutes', 'rate', 'users'] as const)
  if (!(Number(values[name]) > 0)) refuse(`--${name} must be a number above 0.`)
const [minutes, rate, users] = [Number(values.minutes), Number(values.rate), Number(values.users)]
const PROBE = fileURLToPath(new URL('memory-probe.cjs', import.meta.url))
const FIGURES = 20

interface Sample {
  readonly seconds: number
  readonly rss: number
  readonly heapUsed: number
}

interface Visitor {
  readonly person: Person
  readonly browser: ScriptedBrowser
  busy: boolean
}

async function makeVisitors(setup: MeshSetup): Promise<readonly Visitor[]> {
  const visitors: Visitor[] = []
  for (let n = 0; n < users; n += 1) {
    const person = setup.person({ groups: ['everybody', `group ${n % 10}`] })
    const browser = setup.browser()
    await signIn(setup, browser, person)
    // Once the whole page: MeshCentral prepares it at the first time.
    await browser.step(setup.url)
    visitors.push({ person, browser, busy: false })
  }
  return visitors
}

/** Redirects only: the IdP knows the person. */
async function login({ browser }: Visitor, setup: MeshSetup): Promise<void> {
  const here = new URL(setup.url)
  const kept = values.again ? [] : browser.cookies.matching(here)
  browser.cookies.store(
    here,
    kept.map(({ name }) => `${name}=; Path=/; Max-Age=0${name.startsWith('__Host-') ? '; Secure' : ''}`),
  )
  let answer = await browser.step(`${setup.url}auth-oidc`)
  for (let hops = 0; hops < 5; hops += 1) {
    const location = answer.headers.location
    if (location === undefined) break
    const next = new URL(location, answer.url)
    if (next.href === setup.url) break
    answer = await browser.step(next.href)
    if (next.pathname === '/auth-oidc-callback') break
  }
  if (!browser.cookies.matching(here).some(({ name }) => name === 'xid'))
    throw new Error(`no session: ${answer.status}`)
}

async function soak(setup: MeshSetup): Promise<{ logins: number; missed: number; failed: number }> {
  const visitors = await makeVisitors(setup)
  const counts = { logins: 0, missed: 0, failed: 0 }
  const under = new Set<Promise<void>>()
  const begun = performance.now()
  for (let turn = 0; performance.now() - begun < minutes * 60_000; turn += 1) {
    const due = begun + (turn * 1000) / rate
    const wait = due - performance.now()
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    const visitor = visitors[turn % visitors.length] as Visitor
    if (visitor.busy) {
      counts.missed += 1
      continue
    }
    visitor.busy = true
    const task = login(visitor, setup)
      .then(
        () => {
          counts.logins += 1
        },
        (error: unknown) => {
          counts.failed += 1
          process.stderr.write(`${String(error)}\n`)
        },
      )
      .finally(() => {
        visitor.busy = false
        under.delete(task)
      })
    under.add(task)
  }
  await Promise.all(under)
  return counts
}

runScript('pack:meshcentral')
const file = join(process.cwd(), '.ci/output', `memory-${values.strategy}-${process.pid}.jsonl`)
mkdirSync(dirname(file), { recursive: true })
const setup = await setUpMesh({
  strategy: values.strategy === 'built-in' ? 'built-in' : 'ours',
  domains: { '': { oidc: { groups: { sync: true } } } },
  settings: { maxInvalidLogin: false },
  ...(values['without-events'] ? { program: await alteredProgram('server.db.StoreEvent = () => undefined') } : {}),
  nodeOptions: ['--expose-gc', '--require', PROBE],
  env: { MEMORY_PROBE_FILE: file },
})
try {
  const counts = await soak(setup)
  const events = statSync(join(setup.data.path, 'meshcentral-events.db')).size / 1024 / 1024
  const samples = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Sample)
  const megabytes = (bytes: number) => (bytes / 1024 / 1024).toFixed(1).padStart(7)
  const every = Math.max(1, Math.floor(samples.length / FIGURES))
  const shown = samples.filter((_, n) => n % every === 0 || n === samples.length - 1)
  const rows = shown.map(
    ({ seconds, rss, heapUsed }) => `${String(seconds).padStart(6)} s ${megabytes(rss)} MB ${megabytes(heapUsed)} MB`,
  )
  process.stdout.write(
    [
      `${values.strategy}${values.again ? ', signed in before' : ''}: ${counts.logins} logins, ${counts.missed} missed, ${counts.failed} failed, ${events.toFixed(1)} MB of events`,
      '  time      rss         heap',
      ...rows,
      '',
    ].join('\n'),
  )
} finally {
  await setup.close()
}
