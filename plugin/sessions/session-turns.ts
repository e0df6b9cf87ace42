/** Questions under way for one domain. */
const AT_ONCE = 8
/** Questions under way in all, beyond the first of each domain. */
const MOST_SHARED = 56
/** Of one domain. */
const MOST_WAITING = 1_000

/**
 * When questions to the IdPs of all domains may begin. A domain always has one place of its own, so that whatever hangs elsewhere cannot
 * keep it waiting, and up to seven of the 56 that all domains share, which go to one after the other: there are at most 8 under way for
 * one domain, and in all 56 more than there are domains.
 */
export interface SessionTurns {
  /** Resolves to true when the turn has come, which has to be given back; false: too many of the domain wait, or it was closed. */
  take(domainKey: string): Promise<boolean>
  done(domainKey: string): void
  /** There are no more turns: whoever waits for one learns of that. */
  close(): void
}

/** A domain that has something under way. */
interface Line {
  underWay: number
  readonly waiting: ((isNext: boolean) => void)[]
}

export function createSessionTurns(): SessionTurns {
  /** In the order in which the shared places go round. Nobody waits in one that could begin. */
  const lines = new Map<string, Line>()
  let shared = 0
  let closed = false

  function mayBegin({ underWay }: Line): boolean {
    return underWay === 0 || (underWay < AT_ONCE && shared < MOST_SHARED)
  }

  function begin(line: Line): void {
    if (line.underWay > 0) shared += 1
    line.underWay += 1
  }

  /** The place that has come free. */
  function handOn(): void {
    for (const [domainKey, line] of lines) {
      if (!mayBegin(line)) continue
      const next = line.waiting.shift()
      if (!next) continue
      begin(line)
      lines.delete(domainKey)
      lines.set(domainKey, line)
      next(true)
      return
    }
  }

  return {
    take(domainKey) {
      if (closed) return Promise.resolve(false)
      const line = lines.get(domainKey) ?? { underWay: 0, waiting: [] }
      lines.set(domainKey, line)
      if (mayBegin(line)) {
        begin(line)
        return Promise.resolve(true)
      }
      if (line.waiting.length >= MOST_WAITING) return Promise.resolve(false)
      return new Promise((resolve) => line.waiting.push(resolve))
    },
    done(domainKey) {
      const line = lines.get(domainKey)
      if (!line) return
      line.underWay -= 1
      if (line.underWay > 0) shared -= 1
      handOn()
      if (line.underWay === 0) lines.delete(domainKey)
    },
    close() {
      closed = true
      for (const { waiting } of lines.values()) for (const next of waiting.splice(0)) next(false)
    },
  }
}
