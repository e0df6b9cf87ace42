import { StoreError } from '../../errors.ts'
import type { Keyring } from '../../messages/keyring.ts'
import type { Queries } from './database/connection.ts'
import { SCHEMA } from './database/session.ts'

const PROPOSE = 'INSERT INTO keyring (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING'
const READ = 'SELECT value FROM keyring WHERE name = $1'

export function openKeyring({ query }: Queries): Keyring {
  return {
    async settle(name, proposal) {
      await query(PROPOSE, [name, proposal])
      // A statement of its own: the one above does not see what another instance proposed meanwhile.
      const [kept] = await query<{ value: string }>(READ, [name])
      if (!kept) throw new StoreError('store_fault')
      return kept.value
    },
  }
}

/** What {@link openKeyring} would say, with nothing written: a proposal is taken where there is nothing yet. */
export function inspectKeyring({ query }: Queries): Keyring {
  return {
    async settle(name, proposal) {
      const [table] = await query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [
        `${SCHEMA}.keyring`,
      ])
      const [kept] = table?.there ? await query<{ value: string }>(READ, [name]) : []
      return kept?.value ?? proposal
    },
  }
}
