import type pg from 'pg'
import { StoreError } from '../../../errors.ts'

const INT8 = 20
const INT8_ARRAY = 1016
/**
 * Parsers of `bigint` values, by PostgreSQL's type id. Numbers are exact, because all stamps, times and counts are
 * below 2^53.
 */
export const NUMBER_PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  [INT8]: Number,
  [INT8_ARRAY]: (text) => (text === '{}' ? [] : text.slice(1, -1).split(',').map(Number)),
}

/**
 * Imports `pg` on demand. Rejects with `pg_missing` if the package is not installed, so that the operator gets a
 * remedy.
 */
export async function loadPg(): Promise<typeof pg> {
  try {
    return (await import('pg')).default
  } catch (cause) {
    throw new StoreError('pg_missing', { cause })
  }
}
