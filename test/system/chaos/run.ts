import { randomInt } from 'node:crypto'
import { availableParallelism, loadavg } from 'node:os'
import { readCommandLine } from '../../../fixtures/command-line.ts'
import { planOf } from './plan.ts'
import type { Scale, SeveralChaos } from './several/several.ts'
import type { Verdict } from './several/verdict.ts'

/** Time for a lease to lapse, for another instance to notice it, and for that instance's login. */
const TAKEOVER_LIMIT_MS = 8000

const print = (text: string) => process.stdout.write(`${text}\n`)

/** Faults of `--several`. Each run has one fault, takes `seconds`, and has its own database. */
const FAULTS: Readonly<Record<string, (chaos: SeveralChaos) => Promise<void>>> = {
  kill: (chaos) => chaos.eachInTurn(seconds, (victim) => chaos.kill(victim)),
  freeze: (chaos) => chaos.eachInTurn(seconds, (victim) => chaos.freeze(victim)),
  database: (chaos) => chaos.killDatabaseOften(3, seconds),
  upgrade: (chaos) => chaos.upgradeAll(seconds),
}
const USAGE = `Usage: npm run chaos -- [--seed N] [--seconds N] [--several [--fault NAME]]

A sidecar that dies again and again under load, and what it must not lose.

  --seed N      what happens is drawn from it, a whole number
  --seconds N   60 by default; with --several 120 for each fault
  --several     three sidecars on one PostgreSQL
  --fault NAME  with --several, this one alone: ${Object.keys(FAULTS).join(', ')}`
const { values, refuse } = readCommandLine(USAGE, {
  several: { type: 'boolean', default: false },
  seed: { type: 'string' },
  seconds: { type: 'string' },
  fault: { type: 'string' },
})
const names = Object.keys(FAULTS).filter((name) => values.fault === undefined || name === values.fault)
const seed = Number(values.seed ?? randomInt(2 ** 31))
const seconds = Number(values.seconds ?? (values.several ? 120 : 60))
if (!Number.isInteger(seed)) refuse('--seed must be a whole number.')
if (!(seconds > 0)) refuse('--seconds must be a number above 0.')
if (names.length === 0) refuse(`${values.fault} is no such fault.`)
print(`seed ${seed}`)
const failed = values.several ? await several() : await single()
process.exitCode = failed ? 1 : 0

/** One sidecar on SQLite, for `seconds` at most. */
async function single(): Promise<boolean> {
  // Imported only now, because the modules take seconds to load. A wrong command line needs none of them.
  const { Chaos } = await import('./chaos.ts')
  const chaos = new Chaos(planOf(seed), seconds * 1000)
  try {
    await chaos.start()
    await chaos.rage()
    await chaos.calm()
    await chaos.judge()
    return false
  } catch (error) {
    print(error instanceof Error ? (error.stack ?? error.message) : String(error))
    return true
  } finally {
    print(chaos.figures())
    await chaos.close()
  }
}

/** Runs each fault with three sidecars on PostgreSQL. */
async function several(): Promise<boolean> {
  let failed = false
  for (const name of names) {
    print(`\n${name}, ${seconds} s`)
    const load = watchLoad()
    const verdict = await endured(FAULTS[name] ?? (async () => {}))
    for (const [figure, count] of Object.entries(verdict.figures)) print(`  ${figure}: ${count}`)
    print(`  takeovers in s: ${verdict.takeoversMs.map((ms) => (ms / 1000).toFixed(1)).join(', ')}`)
    // On an overloaded machine, the time limit grows in proportion.
    const limitMs = TAKEOVER_LIMIT_MS * Math.max(1, load.highest() / availableParallelism())
    const late = verdict.takeoversMs
      .filter((ms) => ms > limitMs)
      .map((ms) => `two listened after ${Math.round(ms)} ms only, over ${Math.round(limitMs)}`)
    for (const fault of [...verdict.faults, ...late]) print(`  not so: ${fault}`)
    failed ||= verdict.faults.length + late.length > 0
  }
  return failed
}

/** Records the highest load. At the end of a run, the system's one-minute average no longer shows an earlier burst. */
function watchLoad(): { highest(): number } {
  const present = () => loadavg()[0] ?? 0
  let highest = present()
  const look = () => {
    highest = Math.max(highest, present())
  }
  const timer = setInterval(look, 1000)
  return {
    highest() {
      clearInterval(timer)
      look()
      return highest
    },
  }
}

async function endured(rage: (chaos: SeveralChaos) => Promise<void>): Promise<Verdict> {
  // Traffic continues for a minute after the faults, while the instances recover from the last one.
  const scale: Scale = {
    seed,
    stations: 300,
    messagesPerSecond: 200,
    callsPerSecond: 100,
    restMs: Math.min(10_000, (seconds * 1000) / 4),
    seconds: seconds + 60,
  }
  const { SeveralChaos: Run } = await import('./several/several.ts')
  const chaos = new Run(scale)
  try {
    await chaos.start()
    await chaos.endure(() => rage(chaos))
    return await chaos.verdict()
  } finally {
    await chaos.close()
  }
}
