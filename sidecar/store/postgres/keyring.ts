import { StoreError } from '../../errors.ts'
import type { Keyring } from '../../messages/keyring.ts'
import type { Queries } from './database/connection.ts'
import { SCHEMA } from './database/session.ts'

const PROPOSE = 'INSERT INTO keyring (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING'
const READ = 'SELECT value FROM keyring WHERE name = $1'

/** Opens the keyring in the table that all instances share. */
export function openKeyring({ query }: Queries): Keyring {
  return {
    async settle(name, proposal) {
      await query(PROPOSE, [name, proposal])
      // Reads in a second statement, because the first cannot see a row that another instance inserted at the same
      // time.
      const [row] = await query<{ value: string }>(READ, [name])
      if (!row) throw new StoreError('store_fault')
      return row.value
    },
  }
}

/**
 * Opens a keyring that only reads. If no value is stored under `name`, `settle` returns `proposal` without storing it.
 */
export function inspectKeyring({ query }: Queries): Keyring {
  return {
    async settle(name, proposal) {
      const [table] = await query<{ exists: boolean }>('SELECT to_regclass($1) IS NOT NULL AS exists', [
        `${SCHEMA}.keyring`,
      ])
      const [row] = table?.exists ? await query<{ value: string }>(READ, [name]) : []
      return row?.value ?? proposal
    },
  }
}
