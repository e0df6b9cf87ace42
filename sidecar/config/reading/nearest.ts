/**
 * Returns the candidate that a misspelt `name` probably means. It ignores case, and at most a third of the letters may
 * be wrong.
 */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  const wanted = name.toLowerCase().slice(0, MAX_NAME)
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: editDistance(wanted, candidate.toLowerCase()) }))
    .sort((left, right) => left.distance - right.distance)
  const best = ranked[0]
  return best && best.distance <= Math.max(1, Math.floor(best.candidate.length / 3)) ? best.candidate : undefined
}

// Limit of the compared letters. The time grows with the product of both lengths, and a name in a file can have any
// length.
const MAX_NAME = 100

/** Returns the number of letters to insert, remove or replace (Levenshtein distance). */
function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1)
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    previous = current
  }
  return previous[right.length] ?? 0
}
