/** Times by digest, of which the first eight characters count, of one byte each. */
export interface Marks {
  readonly size: number
  get(digest: string): number | undefined
  set(digest: string, time: number): void
}

/**
 * Room for `most`, and for a quarter more, so that the way to a free place is short. In typed arrays, which the garbage collector does not
 * go through: as a `Map` the marks took more than three times the memory.
 */
export function createMarks(most: number): Marks {
  const places = 2 ** Math.ceil(Math.log2(most * 1.25))
  // Each digest's first word, which is never 0, and its second one.
  const words = new Int32Array(2 * places)
  const times = new Float64Array(places)
  let size = 0

  /** Where it is, or would be. */
  function placeOf(first: number, second: number): number {
    let place = second & (places - 1)
    while (words[2 * place] !== 0 && (words[2 * place] !== first || words[2 * place + 1] !== second))
      place = (place + 1) & (places - 1)
    return place
  }

  return {
    get size() {
      return size
    },
    get(digest) {
      const place = placeOf(wordAt(digest, 0) || 1, wordAt(digest, 4))
      return words[2 * place] === 0 ? undefined : times[place]
    },
    set(digest, time) {
      const both = [wordAt(digest, 0) || 1, wordAt(digest, 4)] as const
      const place = placeOf(...both)
      if (words[2 * place] === 0) size += 1
      words.set(both, 2 * place)
      times[place] = time
    },
  }
}

function wordAt(digest: string, index: number): number {
  const byte = (offset: number) => digest.charCodeAt(index + offset)
  return byte(0) | (byte(1) << 8) | (byte(2) << 16) | (byte(3) << 24)
}
