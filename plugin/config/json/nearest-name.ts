/**
 * The one of `known` that `written` was probably meant to be: letter case aside, at most a third of its letters wrong.
 */
export function nearestName(written: string, known: readonly string[]): string | undefined {
  const wanted = written.toLowerCase()
  let nearest: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const name of known) {
    const allowed = Math.max(1, Math.floor(name.length / 3))
    // A name in a file can have any length, and the distance costs time by the product of both.
    if (Math.abs(name.length - wanted.length) > allowed) continue
    const distance = editDistance(wanted, name.toLowerCase())
    if (distance <= allowed && distance < least) {
      nearest = name
      least = distance
    }
  }
  return nearest
}

/**
 * Letters to insert, remove, replace or swap with their neighbour to turn one word into the other
 * (Damerau-Levenshtein, no letter touched twice).
 */
export function editDistance(one: string, other: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 1; row <= one.length; row++) {
    const current = [row]
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1]
      let cost = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1))
      if (one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]) {
        cost = Math.min(cost, at(beforeLast, column - 2) + 1)
      }
      current.push(cost)
    }
    beforeLast = last
    last = current
  }
  return at(last, other.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
