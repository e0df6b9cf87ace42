import { StoreError } from '../../../errors.ts'
import type { Queries } from '../database/connection.ts'
import { SCHEMA } from '../database/session.ts'

// What a start makes, replaces and writes. The first thing that it may not, in words.
const MISSING = `
  WITH schema AS (SELECT to_regnamespace('${SCHEMA}') AS oid)
  SELECT format('%s may not create a schema in the database %s', current_user, current_database()) AS missing
    FROM schema WHERE oid IS NULL AND NOT has_database_privilege(current_database(), 'CREATE')
  UNION ALL
  SELECT format('the schema ${SCHEMA} belongs to %s, and %s may not create in it', pg_get_userbyid(nspowner), current_user)
    FROM pg_namespace JOIN schema USING (oid)
    WHERE NOT (has_schema_privilege(oid, 'USAGE') AND has_schema_privilege(oid, 'CREATE'))
  UNION ALL
  SELECT format('the function %s belongs to %s, and not to %s', proname, pg_get_userbyid(proowner), current_user)
    FROM pg_proc JOIN schema ON pronamespace = schema.oid WHERE proname = ANY ($1) AND NOT pg_has_role(proowner, 'USAGE')
  UNION ALL
  SELECT format('the table %s belongs to %s, and %s may not write to it', relname, pg_get_userbyid(relowner), current_user)
    FROM pg_class AS made JOIN schema ON relnamespace = schema.oid
    WHERE relname = ANY ($1) AND NOT (has_table_privilege(made.oid, 'SELECT') AND has_table_privilege(made.oid, 'INSERT')
      AND has_table_privilege(made.oid, 'UPDATE') AND has_table_privilege(made.oid, 'DELETE'))
  LIMIT 1`

/**
 * Rejects with `database_right_missing`, and with what is missing as its cause, where a start could not do what is in
 * `texts`. Changes nothing.
 */
export async function demandRights({ query }: Queries, texts: readonly string[]): Promise<void> {
  const made = texts.flatMap((text) => [...text.matchAll(/CREATE (?:OR REPLACE FUNCTION|(?:UNLOGGED )?TABLE) (\w+)/g)])
  const [found] = await query<{ missing: string }>(MISSING, [made.map(([, name = '']) => name)])
  if (found) throw new StoreError('database_right_missing', { cause: new Error(found.missing) })
}
