import { readCommandLine } from '../../fixtures/command-line.ts'
import { Machine } from './machine.ts'
import { machineLine } from './machine-state.ts'
import { type Measurement, table } from './measurement.ts'
import { runScript } from './npm-script.ts'

/** Each bench is loaded when it runs. */
const BENCHES: Readonly<Record<string, () => Promise<readonly Measurement[]>>> = {
  start: async () => (await import('./meshcentral-start.ts')).meshStartBench(),
  sessions: async () => (await import('./meshcentral-sessions.ts')).meshSessionsBench(),
  strangers: async () => (await import('./meshcentral-strangers.ts')).meshStrangersBench(),
  written: async () => (await import('./meshcentral-written.ts')).meshWrittenBench(),
}
const { values, refuse } = readCommandLine(
  `Usage: npm run bench:meshcentral -- [--only NAME]

The real MeshCentral with the plugin, and with its own strategy beside it, by
alternating rounds.

  --only start     how long it takes until it serves, and what it then holds in memory
  --only sessions  CPU and 99th percentile of a request of somebody signed in, for the
                   page and for a file, at 1 to 20,000 kept sessions, CPU of a stranger's
                   front-channel call, and the memory that 20,000 of them take
  --only strangers
                   CPU of a stranger's request with a path of 15 KB, and with a short one
  --only written   what an hour of 100 people at work writes to the database`,
  { only: { type: 'string' } },
)
const { only } = values
const names = Object.keys(BENCHES)
if (only !== undefined && !names.includes(only)) refuse(`--only is one of ${names.join(', ')}.`)
runScript('pack:meshcentral')
const machine = new Machine()
const rows: Measurement[] = []
for (const [name, bench] of Object.entries(BENCHES))
  if (only === undefined || name === only) rows.push(...(await machine.during(name, bench)))
process.stdout.write(`${table(rows)}\n\n${machineLine(machine.state())}\n`)
