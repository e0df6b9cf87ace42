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
}

/** Returns a row without a peer. */
export function alone(name: string, unit: string, product: number): Measurement {
  return { name, unit, ours: product, peer: null, peerName: null, ratio: null }
}

/** The medians of the product and the peer. */
export interface Sides {
  readonly ours: number
  readonly peer: number
}

/** Returns a row with a peer. @param better which of two figures is the better one */
export function beside(
  name: string,
  unit: string,
  { ours, peer }: Sides,
  peerName: string,
  better: 'more' | 'less' = 'more',
): Measurement {
  return { name, unit, ours, peer, peerName, ratio: better === 'more' ? ours / peer : peer / ours }
}

/** Runs rounds one after the other, and resolves with their results. */
export async function inTurn<Result>(rounds: number, round: () => Promise<Result>): Promise<readonly Result[]> {
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

/** Returns the medians of one figure of both sides. */
export function medians<Figure extends string>(
  turns: Readonly<Record<keyof Sides, readonly Readonly<Record<Figure, number>>[]>>,
  figure: Figure,
): Sides {
  const middle = (side: keyof Sides) => median(turns[side].map((item) => item[figure]))
  return { ours: middle('ours'), peer: middle('peer') }
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

/** Returns the medians of `rounds` rounds of each side. The sides alternate as in {@link takeTurns}. */
export async function alternate(
  rounds: number,
  sides: Readonly<Record<keyof Sides, () => number | Promise<number>>>,
): Promise<Sides> {
  const { ours: product, peer } = await takeTurns(rounds, sides)
  return { ours: median(product), peer: median(peer) }
}

/** Formats the rows as a table for people. */
export function table(measurements: readonly Measurement[]): string {
  const head = ['name', 'unit', 'ours', 'peer', 'ratio', 'peer is']
  const rows = measurements.map(({ name, unit, ours: product, peer, peerName, ratio }) => {
    const beside = peer === null || ratio === null ? ['-', '-'] : [figure(peer), `${ratio.toFixed(2)} x`]
    return [name, unit, figure(product), ...beside, peerName ?? 'none']
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
