/**
 * Returns the candidate that a misspelt `name` probably means; undefined if none is similar. Ignores case. At most a
 * third of the letters may be wrong.
 */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  const wanted = name.toLowerCase().slice(0, MAX_NAME)
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: editDistance(wanted, candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
  const best = ranked[0]
  return best && best.distance <= Math.max(1, Math.floor(best.candidate.length / 3)) ? best.candidate : undefined
}

// Maximum number of letters of a misspelt name that are compared: the time grows with the product of both lengths.
const MAX_NAME = 100

/**
 * Returns the number of letters to insert, remove or replace to turn one text into the other (Levenshtein distance).
 */
function editDistance(name: string, candidate: string): number {
  let previous = Array.from({ length: candidate.length + 1 }, (_, index) => index)
  for (let row = 1; row <= name.length; row++) {
    const current = [row]
    for (let column = 1; column <= candidate.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (name[row - 1] === candidate[column - 1] ? 0 : 1)
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    previous = current
  }
  return previous[candidate.length] ?? 0
}
