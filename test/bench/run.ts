import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { apiBench } from './api.ts'
import { durableBench } from './durable.ts'
import { fleetBench } from './fleet.ts'
import { housekeepingBench } from './housekeeping.ts'
import { loginBench } from './login.ts'
import type { Measurement } from './measurement.ts'
import { packetsBench } from './packets.ts'
import { severalBench } from './several.ts'
import { sidecarStartBench } from './sidecar-start.ts'
import { upstreamBytesBench } from './upstream-bytes.ts'

/** In this order; each question has a file. */
const BENCHES = [
  packetsBench,
  durableBench,
  housekeepingBench,
  apiBench,
  severalBench,
  upstreamBytesBench,
  fleetBench,
  loginBench,
  sidecarStartBench,
] as const

const { values } = parseArgs({ options: { json: { type: 'string' } } })
const rows: Measurement[] = []
for (const bench of BENCHES) rows.push(...[await bench()].flat())
process.stdout.write(`${table(rows)}\n`)
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(rows, null, 2)}\n`)

function table(measurements: readonly Measurement[]): string {
  const cells = [
    ['name', 'unit', 'ours', 'peer', 'ratio', 'peer is'],
    ...measurements.map(({ name, unit, ours, peer, peerName, ratio }) => [
      name,
      unit,
      figure(ours),
      peer === null ? '-' : figure(peer),
      ratio === null ? '-' : `${ratio.toFixed(2)} x`,
      peerName ?? '-',
    ]),
  ]
  const widths = [0, 1, 2, 3, 4, 5].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  return cells
    .map((row) =>
      row
        .map((cell, column) =>
          column >= 2 && column <= 4 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function figure(value: number): string {
  return value >= 1000 ? Math.round(value).toLocaleString('en') : value.toFixed(value >= 100 ? 0 : 2)
}
