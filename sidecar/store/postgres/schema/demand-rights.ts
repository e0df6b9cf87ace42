import { StoreError } from '../../../errors.ts'
import { readSql } from '../../read-sql.ts'
import type { Queries } from '../database/connection.ts'
import { SCHEMA } from '../database/session.ts'

const MISSING_RIGHTS = readSql(new URL('./missing-rights.sql', import.meta.url), { SCHEMA })

/** Rejects with `database_right_missing` if the database user may not execute `texts`. Its cause names the right. */
export async function demandRights({ query }: Queries, texts: readonly string[]): Promise<void> {
  const created = texts.flatMap((text) => [...text.matchAll(/CREATE (?:OR REPLACE FUNCTION|TABLE) (\w+)/g)])
  const [row] = await query<{ missing: string }>(MISSING_RIGHTS, [created.map(([, name = '']) => name)])
  if (row) throw new StoreError('database_right_missing', { cause: new Error(row.missing) })
}
