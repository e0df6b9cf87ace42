import type { CaseName } from '../support/cases.ts'
import type { Lab, LabOptions } from '../support/lab.ts'
import type { RealIdp } from '../support/real-idp.ts'

/** Where a case is tried: a provider that is new, and hosts in front of it that are closed afterwards. */
export interface Bench<Own extends RealIdp = RealIdp> {
  readonly idp: Own
  readonly name: string
  lab(options?: LabOptions): Promise<Lab>
  /** Something else to close afterwards. */
  keep(close: () => Promise<unknown> | unknown): void
}

/** Rejects where the behaviour breaks. */
export type Run = (bench: Bench) => Promise<void>

export type Runs = Readonly<Partial<Record<CaseName, Run>>>
