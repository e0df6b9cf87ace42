import type { Clock } from '../../clock.ts'

/** Watches what flows through the sidecar, from the outside: the parts know nothing of it. */
export interface Traffic {
  /** When a packet last arrived, in milliseconds since 1970; undefined before the first. */
  readonly lastPacketAt: number | undefined
  /** `receive`, watched. */
  receiving<In, Out>(receive: (lines: In) => Out): (lines: In) => Out
}

export function watchTraffic(clock: Clock): Traffic {
  let lastPacketAt: number | undefined
  return {
    get lastPacketAt() {
      return lastPacketAt
    },
    receiving: (receive) => (lines) => {
      lastPacketAt = clock.now()
      return receive(lines)
    },
  }
}
