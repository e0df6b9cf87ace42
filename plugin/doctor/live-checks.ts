import type { Verdict } from './live/verdict.ts'

/** What is known of the live check of a domain. Times are milliseconds since 1970. */
export type LiveCheck =
  | { readonly kind: 'never' }
  | { readonly kind: 'running'; readonly since: number }
  | { readonly kind: 'done'; readonly at: number; readonly verdicts: readonly Verdict[] }

export interface LiveChecks {
  /** Begins one, unless one is under way or the last one is too fresh. */
  start(domainKey: string): void
  of(domainKey: string): LiveCheck
}

/**
 * From the end of a check to the next one of the same domain: it makes about ten requests to somebody else's server.
 */
export const PAUSE_MS = 10_000

/**
 * Live checks on demand, one at a time for each domain; the last outcome is kept.
 *
 * @param askers by domain key; others cannot be checked
 * @param now milliseconds since 1970
 */
export function createLiveChecks(
  askers: ReadonlyMap<string, () => Promise<readonly Verdict[]>>,
  now: () => number,
  onFailure: (error: unknown) => void,
): LiveChecks {
  const checks = new Map<string, LiveCheck>()
  const of = (domainKey: string): LiveCheck => checks.get(domainKey) ?? { kind: 'never' }

  function isFresh(check: LiveCheck): boolean {
    // A clock that was set back does not keep anybody waiting.
    return check.kind === 'done' && check.at <= now() && now() - check.at < PAUSE_MS
  }

  return {
    start(domainKey) {
      const ask = askers.get(domainKey)
      const current = of(domainKey)
      if (!ask || current.kind === 'running' || isFresh(current)) return
      checks.set(domainKey, { kind: 'running', since: now() })
      const end = (verdicts: readonly Verdict[]) => void checks.set(domainKey, { kind: 'done', at: now(), verdicts })
      ask().then(end, (error: unknown) => {
        end([])
        onFailure(error)
      })
    },
    of,
  }
}
