interface Keyed {
  readonly keys: readonly string[]
}

/**
 * Finds, adds and removes entries by key in constant time, because strangers can cause look-ups, and thousands of
 * entries may share a key, such as one user's sessions in a load test.
 */
export class KeyIndex<Entry extends Keyed> {
  /** A single entry is stored without a set, because most keys have one entry and a set takes 200 bytes. */
  readonly #byKey = new Map<string, Entry | Set<Entry>>()

  add(entry: Entry): void {
    for (const key of entry.keys) {
      const stored = this.#byKey.get(key)
      if (stored === undefined) this.#byKey.set(key, entry)
      else if (stored instanceof Set) stored.add(entry)
      else if (stored !== entry) this.#byKey.set(key, new Set([stored, entry]))
    }
  }

  remove(entry: Entry): void {
    for (const key of entry.keys) {
      const stored = this.#byKey.get(key)
      if (stored === entry) this.#byKey.delete(key)
      else if (stored instanceof Set && stored.delete(entry) && stored.size === 0) this.#byKey.delete(key)
    }
  }

  /** Returns the entries that have the key, in the order in which they were added. */
  withKey(key: string): readonly Entry[] {
    const stored = this.#byKey.get(key)
    if (stored === undefined) return []
    return stored instanceof Set ? [...stored] : [stored]
  }

  has(key: string): boolean {
    return this.#byKey.has(key)
  }

  clear(): void {
    this.#byKey.clear()
  }
}
