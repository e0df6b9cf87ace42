import type { Clock } from '../clock.ts'

/** Watches what flows through the sidecar, from the outside: the parts know nothing of it. */
export interface Traffic {
  /** When a packet last arrived, in milliseconds since 1970; undefined before the first. */
  readonly lastPacketAt: number | undefined
  /** Stations that are being notified right now, those that wait for their turn included. */
  readonly pushesUnderWay: number
  /** `receive`, watched. */
  receiving<In, Out>(receive: (lines: In) => Out): (lines: In) => Out
  /** `push`, watched. */
  pushing<In extends readonly unknown[]>(push: (...what: In) => Promise<void>): (...what: In) => Promise<void>
}

export function watchTraffic(clock: Clock): Traffic {
  let lastPacketAt: number | undefined
  let pushesUnderWay = 0
  return {
    get lastPacketAt() {
      return lastPacketAt
    },
    get pushesUnderWay() {
      return pushesUnderWay
    },
    receiving: (receive) => (lines) => {
      lastPacketAt = clock.now()
      return receive(lines)
    },
    pushing:
      (push) =>
      (...what) => {
        pushesUnderWay += 1
        return push(...what).finally(() => {
          pushesUnderWay -= 1
        })
      },
  }
}
