interface Keyed {
  readonly keys: readonly string[]
}

/**
 * Finds what bears a key without looking at anything else: a stranger may ask, and each end of a session asks. An entry
 * bears several keys, and a key may be borne by thousands (sessions of one user in a load test), so neither adding nor
 * removing looks at the others.
 */
export class KeyIndex<Entry extends Keyed> {
  /** A single entry stands there without a set: most keys have one, and a set takes 200 bytes. */
  readonly #byKey = new Map<string, Entry | Set<Entry>>()

  add(entry: Entry): void {
    for (const key of entry.keys) {
      const there = this.#byKey.get(key)
      if (there === undefined) this.#byKey.set(key, entry)
      else if (there instanceof Set) there.add(entry)
      else if (there !== entry) this.#byKey.set(key, new Set([there, entry]))
    }
  }

  remove(entry: Entry): void {
    for (const key of entry.keys) {
      const there = this.#byKey.get(key)
      if (there === entry) this.#byKey.delete(key)
      else if (there instanceof Set && there.delete(entry) && there.size === 0) this.#byKey.delete(key)
    }
  }

  /** Returns the entries that bear the key, in the order in which they were added. */
  withKey(key: string): readonly Entry[] {
    const there = this.#byKey.get(key)
    if (there === undefined) return []
    return there instanceof Set ? [...there] : [there]
  }

  has(key: string): boolean {
    return this.#byKey.has(key)
  }

  clear(): void {
    this.#byKey.clear()
  }
}
