/** When something was seen last, by a digest of what it was. Holds numbers only, 16 bytes a place. */
export interface MarkTable {
  /** Milliseconds since 1970; undefined when it was never seen, or was forgotten. */
  get(digest: number): number | undefined
  /** `digest`: a whole number from 1 to 2^53, which nobody outside can foresee, for its place in the table follows from it. */
  set(digest: number, time: number): void
}

const FEWEST_PLACES = 1024
/**
 * Of each of the two halves: together at most 197,000 marks in 4 MB, and at least the newest 98,000. That is more than the messages
 * that the whole network carries in two hours.
 */
const MOST_PLACES = 131_072
/** Beyond it the search for a free place gets long. */
const MOST_FILLED = 0.75

interface Half {
  /** A power of two. */
  readonly places: number
  /** Digest and time of each place side by side, so that both come from memory at once. The digest 0 is a free place. */
  readonly pairs: Float64Array
  filled: number
}

/**
 * Two hash tables with linear probing. What is new goes into the young one, which grows; when it is full and as large as it may be,
 * it takes the place of the old one, whose marks are forgotten all at once. Nothing in here depends on what a clock says.
 */
export function createMarkTable(mostPlaces: number = MOST_PLACES): MarkTable {
  let young = emptyHalf(Math.min(FEWEST_PLACES, mostPlaces))
  let old: Half | undefined

  function makeRoom(): void {
    if (young.filled < young.places * MOST_FILLED) return
    if (young.places < mostPlaces) young = copyOf(young, young.places * 2)
    else {
      old = young
      young = emptyHalf(young.places)
    }
  }

  return {
    get: (digest) => find(young, digest) ?? (old && find(old, digest)),
    set(digest, time) {
      makeRoom()
      put(young, digest, time)
    },
  }
}

function emptyHalf(places: number): Half {
  return { places, pairs: new Float64Array(places * 2), filled: 0 }
}

function copyOf({ pairs }: Half, places: number): Half {
  const copy = emptyHalf(places)
  for (let at = 0; at < pairs.length; at += 2) {
    const digest = pairs[at] as number
    if (digest !== 0) put(copy, digest, pairs[at + 1] as number)
  }
  return copy
}

/** Where in the pairs `digest` stands, or the free place where it belongs. */
function placeOf({ places, pairs }: Half, digest: number): number {
  for (let place = digest & (places - 1); ; place = (place + 1) & (places - 1)) {
    const there = pairs[place * 2]
    if (there === digest || there === 0) return place * 2
  }
}

function find(half: Half, digest: number): number | undefined {
  const at = placeOf(half, digest)
  return half.pairs[at] === 0 ? undefined : half.pairs[at + 1]
}

function put(half: Half, digest: number, time: number): void {
  const at = placeOf(half, digest)
  if (half.pairs[at] === 0) half.filled += 1
  half.pairs[at] = digest
  half.pairs[at + 1] = time
}
