/** One row of `npm run bench`. */
export interface Measurement {
  readonly name: string
  readonly unit: string
  readonly ours: number
  /** Null where there is nothing to compare with; then `peerName` and `ratio` are null too. */
  readonly peer: number | null
  /** What it is, and what it does not do of what ours does. */
  readonly peerName: string | null
  /** How many times better ours is, whatever the unit: above 1 is better. */
  readonly ratio: number | null
}

/** The middle value; of an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('The median of nothing is not defined.')
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length >> 1
  const upper = sorted[half] as number
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] as number) + upper) / 2
}

/** What one round measured, in the unit of the row. */
type Round = () => number | Promise<number>

/**
 * `rounds` rounds of each side. The sides take turns, and who begins changes each round, so that whatever else the machine does falls
 * on both alike.
 */
export async function takeTurns<Ours, Peer>(
  rounds: number,
  ours: () => Ours | Promise<Ours>,
  peer: () => Peer | Promise<Peer>,
): Promise<{ readonly ours: readonly Ours[]; readonly peer: readonly Peer[] }> {
  const results = { ours: [] as Ours[], peer: [] as Peer[] }
  const sides = [async () => results.ours.push(await ours()), async () => results.peer.push(await peer())]
  for (let round = 0; round < rounds; round++) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) await side()
  }
  return results
}

/** Medians of `rounds` rounds of each side, as {@link takeTurns} has them. */
export async function alternate(rounds: number, ours: Round, peer: Round): Promise<{ ours: number; peer: number }> {
  const results = await takeTurns(rounds, ours, peer)
  return { ours: median(results.ours), peer: median(results.peer) }
}
