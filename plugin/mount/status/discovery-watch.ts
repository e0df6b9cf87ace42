import { causeCode } from '../../log.ts'
import type { DiscoveryDeps } from '../../provider/issuer/discovery.ts'

/** Times are milliseconds since 1970. */
export interface DiscoveryStatus {
  /** Since when the IdP is discovered; null: it never was since the start of this process. */
  readonly discoveredSince: number | null
  /** Since when discovery fails, and what mends that; null: the last attempt did not. What was found before is used meanwhile. */
  readonly failure: DiscoveryFailure | null
}

export interface DiscoveryFailure {
  readonly since: number
  /** Such as `ECONNREFUSED`; null where there was an answer. */
  readonly causeCode: string | null
  readonly remedy: string
}

type Told = Pick<DiscoveryDeps, 'onFailure' | 'onDiscovered'>

export interface DiscoveryWatch extends Told {
  status(): DiscoveryStatus
}

/**
 * Remembers how discovery goes.
 *
 * @param inner told of everything too
 * @param now milliseconds since 1970
 */
export function watchDiscovery(inner: Told, now: () => number): DiscoveryWatch {
  let discoveredSince: number | null = null
  let failure: DiscoveryFailure | null = null
  return {
    onFailure: (error, outage) => {
      failure = {
        since: failure?.since ?? now(),
        causeCode: causeCode(error.cause) ?? null,
        remedy: error.message,
      }
      inner.onFailure(error, outage)
    },
    onDiscovered: (metadata) => {
      discoveredSince ??= now()
      failure = null
      inner.onDiscovered(metadata)
    },
    status: () => ({ discoveredSince, failure }),
  }
}
