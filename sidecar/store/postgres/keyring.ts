import { StoreError } from '../../errors.ts'
import type { Keyring } from '../../messages/keyring.ts'
import type { Queries } from './database/connection.ts'

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
