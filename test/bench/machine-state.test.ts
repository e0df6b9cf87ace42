import { deepStrictEqual, match, strictEqual } from 'node:assert/strict'
import { familyTicks, machineLine, machineState, parseReading, type Reading } from './machine-state.ts'

const IDLE: Reading = { all: 1000, used: 400, stolen: 10, ours: 100, load: 0.5 }
const QUIET: Reading = { all: 2000, used: 1100, stolen: 15, ours: 790, load: 1.8 }

describe("report of the machine's load during benchmarks", () => {
  it('reads the stolen CPU time and the load average from /proc', () => {
    const stat = 'cpu  100 20 30 400 5 6 7 80 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 5\n'
    deepStrictEqual(parseReading(stat, '3.06 2.36 2.53 12/221 29828\n', 9), {
      all: 648,
      used: 150,
      stolen: 80,
      ours: 9,
      load: 3.06,
    })
  })

  it('sums the CPU time of a process and its descendants, even ended descendants', () => {
    const stat = (parent: number, own: number, ended: number) =>
      `1 (a) b (c) S ${parent} 0 0 0 0 0 0 0 0 0 ${own} 1 ${ended} 2 20`
    const stats = new Map([
      [10, stat(1, 100, 1000)],
      [11, stat(10, 20, 0)],
      [12, stat(11, 3, 0)],
      [13, stat(1, 5000, 0)],
    ])
    strictEqual(familyTicks(10, stats), 123 + 3 + 1000 + 6)
  })

  it('calls the machine quiet if only the benchmark used CPU time', () => {
    const state = machineState(2, [{ name: 'api', readings: [IDLE, QUIET] }])
    deepStrictEqual(state, {
      processors: 2,
      busy: false,
      busyIn: [],
      othersPercent: 1,
      stolenPercent: 0.5,
      load: { before: 0.5, most: 1.8, after: 1.8 },
    })
    match(
      machineLine(state),
      /^The machine with 2 processors was quiet\. .* 0\.5 before, 1\.8 at most, and 1\.8 after\.$/,
    )
  })

  it('calls the machine busy if other processes used 10 % of the CPU in a benchmark', () => {
    const later = { ...QUIET, all: 3000, used: 1900, ours: 1490 }
    const state = machineState(2, [
      { name: 'api', readings: [IDLE, QUIET] },
      { name: 'push', readings: [QUIET, later] },
    ])
    deepStrictEqual(state.busyIn, ['push'])
    match(machineLine(state), /was BUSY during push\. .*CPU time/)
  })

  it('calls the machine busy if its hypervisor took 2 % of the CPU time', () => {
    const { busy } = machineState(2, [{ name: 'api', readings: [IDLE, { ...QUIET, stolen: 30 }] }])
    strictEqual(busy, true)
  })

  it("reports the machine's load as unknown if /proc is missing", () => {
    match(machineLine(undefined), /unknown/)
  })
})
