import type { Verdict } from './live/verdict.ts'

/** The state of a domain's live check. All times are milliseconds since 1970. */
export type LiveCheck =
  | { readonly kind: 'never' }
  | { readonly kind: 'running'; readonly since: number }
  | { readonly kind: 'done'; readonly endedAt: number; readonly verdicts: readonly Verdict[] }

export interface LiveChecks {
  /** Starts a check, unless one is running or the last one ended less than {@link PAUSE_MS} ago. */
  start(domainKey: string): void
  of(domainKey: string): LiveCheck
}

/**
 * The pause after a check of a domain, in milliseconds. A check sends about ten requests to another company's server.
 */
export const PAUSE_MS = 10_000

/**
 * Runs live checks on demand, one at a time for each domain, and keeps the last outcome.
 *
 * @param askers by domain key
 * @param now in milliseconds since 1970
 */
export function createLiveChecks(
  askers: ReadonlyMap<string, () => Promise<readonly Verdict[]>>,
  now: () => number,
  onFailure: (error: unknown) => void,
): LiveChecks {
  const checks = new Map<string, LiveCheck>()
  const checkOf = (domainKey: string): LiveCheck => checks.get(domainKey) ?? { kind: 'never' }

  function isFresh(check: LiveCheck): boolean {
    // Ignore the last live check if its end seems to be in the future. The system clock was then set back, and must not
    // delay the next live check.
    return check.kind === 'done' && check.endedAt <= now() && now() - check.endedAt < PAUSE_MS
  }

  return {
    start(domainKey) {
      const ask = askers.get(domainKey)
      const current = checkOf(domainKey)
      if (!ask || current.kind === 'running' || isFresh(current)) return
      checks.set(domainKey, { kind: 'running', since: now() })
      const end = (verdicts: readonly Verdict[]) =>
        void checks.set(domainKey, { kind: 'done', endedAt: now(), verdicts })
      ask().then(end, (error: unknown) => {
        end([])
        onFailure(error)
      })
    },
    of: checkOf,
  }
}
