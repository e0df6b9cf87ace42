/**
 * Finds the candidate that `written` is probably meant to be. Ignores letter case, and allows errors in at most a third
 * of the letters.
 */
export function nearestName(written: string, candidates: readonly string[]): string | undefined {
  const wanted = written.toLowerCase()
  let nearest: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const name of candidates) {
    const allowed = Math.max(1, Math.floor(name.length / 3))
    // Skip names of very different length. The name in the configuration can have any length, and the time for a
    // comparison grows with the product of both lengths.
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
 * Returns the restricted Damerau-Levenshtein distance: how many letters to insert, remove, replace or swap, none twice.
 */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1]
      let cost = Math.min(
        cellOf(last, column) + 1,
        cellOf(current, column - 1) + 1,
        cellOf(last, column - 1) + (isSame ? 0 : 1),
      )
      if (from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]) {
        cost = Math.min(cost, cellOf(beforeLast, column - 2) + 1)
      }
      current.push(cost)
    }
    beforeLast = last
    last = current
  }
  return cellOf(last, to.length)
}

function cellOf(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
