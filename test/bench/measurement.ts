import { counted, isSteady } from './steadiness.ts'

/** One row of `npm run bench`. */
export interface Measurement {
  readonly name: string
  readonly unit: string
  readonly ours: number
  /** The figure of the peer; null if there is no peer. Then `peerName` and `ratio` are null too. */
  readonly peer: number | null
  /** Name of the peer, and what it does not do. */
  readonly peerName: string | null
  /** How many times better the product is than the peer; above 1, the product is better. */
  readonly ratio: number | null
  /** Whether the last three windows of both sides differ by 5 % at most. Null if the figure is not of windows. */
  readonly steady: boolean | null
}

/** A figure of windows. */
export interface Figure {
  readonly value: number
  readonly steady: boolean
}

/** Returns a benchmark row without a peer. @param product the figure, with its steadiness if it is of windows */
export function alone(name: string, unit: string, product: number | Figure): Measurement {
  const { value, steady } = typeof product === 'number' ? { value: product, steady: null } : product
  return { name, unit, ours: value, peer: null, peerName: null, ratio: null, steady }
}

/** The figures of the product and the peer. */
export interface Sides {
  readonly ours: number
  readonly peer: number
  /** Whether both are steady; undefined if they are not of windows. */
  readonly steady?: boolean
}

/** Returns a row with a peer. @param better which of two figures is the better one */
export function beside(
  name: string,
  unit: string,
  { ours, peer, steady = undefined }: Sides,
  peerName: string,
  better: 'more' | 'less' = 'more',
): Measurement {
  return {
    name,
    unit,
    ours,
    peer,
    peerName,
    ratio: better === 'more' ? ours / peer : peer / ours,
    steady: steady ?? null,
  }
}

/** Runs rounds one after the other, and resolves with their results. */
export async function repeat<Result>(rounds: number, round: () => Promise<Result>): Promise<readonly Result[]> {
  const results: Result[] = []
  while (results.length < rounds) results.push(await round())
  return results
}

/** Returns the median. For an even number of values, it is the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('The median of nothing is not defined.')
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length >> 1
  const upper = sorted[half] as number
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] as number) + upper) / 2
}

/** The results of both sides' windows. */
type Turns<Name extends string> = Readonly<Record<'ours' | 'peer', readonly Readonly<Record<Name, number>>[]>>

/**
 * Returns the medians of one figure of both sides. They are steady if the figure `steadyBy` is. A percentile, for
 * example, differs more from window to window than the rate, so the rate decides about both.
 */
export function medians<Name extends string>(turns: Turns<Name>, figure: Name, steadyBy: Name = figure): Sides {
  const valuesOf = (side: 'ours' | 'peer', name: Name) => turns[side].map((item) => item[name])
  const steady = isSteady(valuesOf('ours', steadyBy)) && isSteady(valuesOf('peer', steadyBy))
  return { ours: median(valuesOf('ours', figure)), peer: median(valuesOf('peer', figure)), steady }
}

/** Returns the median of one figure of the windows. */
export function medianOf<Name extends string>(
  windows: readonly Readonly<Record<Name, number>>[],
  figure: Name,
): Figure {
  const values = windows.map((item) => item[figure])
  return { value: median(values), steady: isSteady(values) }
}

/** The results of each side's rounds. */
type Results<Runs> = {
  readonly [Side in keyof Runs]: Runs[Side] extends () => infer Result ? Awaited<Result>[] : never
}

/**
 * Runs `rounds` rounds of each side. The sides take turns, and the first one changes each round, so that other load on
 * the machine affects all alike.
 */
export async function takeTurns<Runs extends Readonly<Record<string, () => unknown>>>(
  rounds: number,
  runs: Runs,
): Promise<Results<Runs>> {
  const all = Object.entries(runs).map(([name, run]) => ({ name, run, results: [] as unknown[] }))
  for (let round = 0; round < rounds; round++) {
    for (const { run, results } of round % 2 === 0 ? all : all.toReversed()) results.push(await run())
  }
  return Object.fromEntries(all.map(({ name, results }) => [name, results])) as Results<Runs>
}

/**
 * Runs windows of all sides until `figure` of each is steady, but at most `mostWindows` of each. The sides take
 * turns as in {@link takeTurns}. Returns the windows that count, see {@link counted}.
 */
export async function untilSteady<
  Name extends string,
  Runs extends Readonly<Record<string, () => Promise<Readonly<Record<Name, number>>>>>,
>(mostWindows: number, figure: Name, runs: Runs): Promise<Results<Runs>> {
  const all = Object.entries(runs).map(([name, run]) => ({
    name,
    run,
    windows: [] as Readonly<Record<Name, number>>[],
  }))
  const areSteady = () => all.every(({ windows }) => isSteady(windows.map((window) => window[figure])))
  for (let round = 0; round < mostWindows && !areSteady(); round++) {
    for (const { run, windows } of round % 2 === 0 ? all : all.toReversed()) windows.push(await run())
  }
  const isEnd = areSteady()
  return Object.fromEntries(all.map(({ name, windows }) => [name, counted(windows, isEnd)])) as Results<Runs>
}

/** Returns the medians of a rate of both sides, which is measured as by {@link untilSteady}. */
export async function alternate(
  mostWindows: number,
  sides: Readonly<Record<'ours' | 'peer', () => number | Promise<number>>>,
): Promise<Sides> {
  const turns = await untilSteady(mostWindows, 'perSecond', {
    ours: async () => ({ perSecond: await sides.ours() }),
    peer: async () => ({ perSecond: await sides.peer() }),
  })
  return medians(turns, 'perSecond')
}

/** Formats the rows as a table for people. */
export function table(measurements: readonly Measurement[]): string {
  const head = ['name', 'unit', 'ours', 'peer', 'ratio', 'windows', 'peer is']
  const rows = measurements.map(({ name, unit, ours: product, peer, peerName, ratio, steady }) => {
    const beside = peer === null || ratio === null ? ['-', '-'] : [figure(peer), `${ratio.toFixed(2)} x`]
    const windows = steady === null ? '-' : steady ? 'steady' : 'not steady'
    return [name, unit, figure(product), ...beside, windows, peerName ?? 'none']
  })
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const isFigure = (column: number) => column >= 2 && column <= 4
  const line = (row: readonly string[]) =>
    widths.map((width, column) => row[column]?.[isFigure(column) ? 'padStart' : 'padEnd'](width)).join('  ')
  return [head, ...rows].map((row) => line(row).trimEnd()).join('\n')
}

function figure(value: number): string {
  return value >= 1000 ? Math.round(value).toLocaleString('en') : value.toFixed(value >= 100 ? 0 : 2)
}
