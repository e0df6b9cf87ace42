import { randomInt } from 'node:crypto'
import { relative } from 'node:path'
import { readCommandLine } from '../../fixtures/command-line.ts'
import { keepCase } from './cases.ts'
import { tryProperties } from './properties.ts'
import { TARGETS } from './targets/all.ts'

/** Minimum number of rounds. In each round, all targets get the same time. */
const ROUNDS = 4
const LONGEST_TURN_MS = 30_000

const USAGE = `Usage: npm run fuzz -- [--minutes N] [--seed N] [--target NAME]
       npm run fuzz -- --properties TIMES

Random input for what reads from strangers, until something breaks.

  --minutes N         1 by default
  --seed N            what the input is drawn from, a whole number
  --target NAME       ${Object.keys(TARGETS).join(', ')}
  --properties TIMES  the property tests in their place, each with so many runs`
const { values, refuse } = readCommandLine(USAGE, {
  minutes: { type: 'string', default: '1' },
  seed: { type: 'string' },
  target: { type: 'string' },
  properties: { type: 'string' },
})
const print = (text: string) => process.stdout.write(`${text}\n`)
const names = Object.keys(TARGETS).filter((name) => values.target === undefined || name === values.target)
const lastingMs = Number(values.minutes) * 60_000
const firstSeed = Number(values.seed ?? randomInt(2 ** 31))
if (!(lastingMs > 0)) refuse('--minutes must be a number above 0.')
if (!Number.isInteger(firstSeed)) refuse('--seed must be a whole number.')
if (names.length === 0) refuse(`${values.target} is no such target.`)
if (values.properties !== undefined && !/^[1-9]\d*$/.test(values.properties)) refuse('--properties must be a number.')
if (values.properties !== undefined) process.exit(tryProperties(Number(values.properties)))

const { fuzz } = await import('./fuzz.ts')
const targets = await Promise.all(
  Object.entries(TARGETS).flatMap(([name, load]) => (names.includes(name) ? load() : [])),
)
const end = Date.now() + lastingMs
const turnMs = Math.min(LONGEST_TURN_MS, lastingMs / ROUNDS / targets.length)
const tried = new Map(targets.map(({ name }) => [name, 0]))
const broken = new Set<string>()
for (let seed = firstSeed; Date.now() < end && broken.size < targets.length; seed++) {
  print(`seed ${seed}`)
  for (const target of targets) {
    if (broken.has(target.name) || Date.now() >= end) continue
    const outcome = await fuzz(target, { seed, inputs: Number.MAX_SAFE_INTEGER, limitMs: turnMs })
    tried.set(target.name, (tried.get(target.name) ?? 0) + outcome.tried)
    if (!outcome.broken) continue
    const { what: problem, input } = outcome.broken
    broken.add(target.name)
    print(`${target.name} breaks: ${problem}\n  kept as ${relative('.', keepCase(target.name, problem, input))}`)
  }
}
for (const [name, count] of tried)
  print(`${name.padEnd(18)} ${String(count).padStart(10)} inputs${broken.has(name) ? ', BROKEN' : ''}`)
process.exitCode = broken.size > 0 ? 1 : 0
