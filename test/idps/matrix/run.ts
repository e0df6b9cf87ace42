import type { CaseName } from '../support/cases.ts'
import type { Lab, LabOptions } from '../support/lab.ts'
import type { RealIdp } from '../support/real-idp.ts'

/**
 * The surroundings of one case: a freshly reset provider, and the hosts in front of it, which are closed after the
 * case.
 */
export interface Bench<Own extends RealIdp = RealIdp> {
  readonly idp: Own
  readonly name: string
  lab(options?: LabOptions): Promise<Lab>
  /** Closes something else after the case. */
  keep(close: () => Promise<unknown> | unknown): void
}

/** Runs one case. Rejects if the provider behaves otherwise than expected. */
export type Run = (bench: Bench) => Promise<void>

export type Runs = Readonly<Partial<Record<CaseName, Run>>>
