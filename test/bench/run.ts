import { writeFile } from 'node:fs/promises'
import { readCommandLine } from '../../fixtures/command-line.ts'
import { Machine } from './machine.ts'
import { machineLine } from './machine-state.ts'
import { type Measurement, table } from './measurement.ts'
import { runScript } from './npm-script.ts'

/**
 * The benches in the order in which they run, one per file. Each is loaded when it runs. `rows`: the beginnings of the
 * names of their rows.
 */
const BENCHES = [
  { rows: ['packets'], bench: async () => (await import('./packets.ts')).packetsBench() },
  { rows: ['pipeline'], bench: async () => (await import('./durable.ts')).durableBench() },
  { rows: ['push'], bench: async () => (await import('./push.ts')).pushBench() },
  { rows: ['api'], bench: async () => (await import('./api.ts')).apiBench() },
  { rows: ['avatars'], bench: async () => (await import('./avatars.ts')).avatarsBench() },
  {
    rows: ['pipeline.postgres', 'pipeline.takeover', 'api.sync.postgres'],
    bench: async () => (await import('./several.ts')).severalBench(),
  },
  { rows: ['api.register.postgres'], bench: async () => (await import('./registers.ts')).registersBench() },
  { rows: ['upstream'], bench: async () => (await import('./upstream-bytes.ts')).upstreamBytesBench() },
  { rows: ['login'], bench: async () => (await import('./login.ts')).loginBench() },
  { rows: ['start.domains'], bench: async () => (await import('./domains.ts')).domainsBench() },
  { rows: ['frontchannel', 'stranger'], bench: async () => (await import('./frontchannel.ts')).frontchannelBench() },
  { rows: ['sidecar'], bench: async () => (await import('./sidecar-start.ts')).sidecarStartBench() },
  { rows: ['growth'], bench: async () => (await import('./growth.ts')).growthBench() },
] as const

const USAGE = `Usage: npm run bench -- [--only NAME] [--json FILE]

The benchmarks, as a table. A row is measured when its rate is steady: the
last three windows differ by 5 % at most. A line below the table says what else
the machine did. If it was busy, CPU times are the figures to trust.

  --only NAME  one row, or all rows whose names begin so: ${BENCHES.flatMap(({ rows }) => rows).join(', ')}
  --json FILE  writes the rows and the state of the machine there, too`
const { values, refuse } = readCommandLine(USAGE, { json: { type: 'string' }, only: { type: 'string' } })
const benches = chosen(values.only)
runScript('build')
const machine = new Machine()
const rows: Measurement[] = []
for (const { rows: names, bench } of benches) {
  const begun = performance.now()
  const name = names.join(', ')
  rows.push(...[await machine.during<Measurement | readonly Measurement[]>(name, bench)].flat())
  process.stderr.write(`${name}: ${Math.round((performance.now() - begun) / 1000)} s\n`)
}
const wanted = rows.filter(({ name }) => values.only === undefined || isOf(name, values.only))
// If no row has the given name, all rows of its bench are shown, so that the user finds the right name.
const shown = wanted.length > 0 ? wanted : rows
const state = machine.state()
process.stdout.write(`${table(shown)}\n\n${machineLine(state)}\n`)
if (values.json !== undefined)
  await writeFile(values.json, `${JSON.stringify({ machine: state ?? null, rows: shown }, null, 2)}\n`)

/** Returns the bench of a row, or of all rows that begin with `name`; by default all benches. */
function chosen(name: string | undefined): readonly (typeof BENCHES)[number][] {
  if (name === undefined) return BENCHES
  const beginnings = BENCHES.flatMap(({ rows }) => [...rows])
  const [longest] = beginnings.filter((a) => isOf(name, a)).sort((a, b) => b.length - a.length)
  const benches = BENCHES.filter(({ rows }) => rows.some((item) => item === longest))
  if (benches.length > 0) return benches
  return refuse(`No row is called ${name}.`)
}

function isOf(name: string, beginning: string): boolean {
  return name === beginning || name.startsWith(`${beginning}.`)
}
