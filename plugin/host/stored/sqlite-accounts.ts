import { LoginError } from '../../errors.ts'
import {
  accountExists,
  limitOf,
  MOST_ACCOUNTS,
  type StoredAccounts,
  type StoredAccountsOptions,
  unknownAccount,
} from './records.ts'
import { openTable, quotedName, type SqliteConnection } from './sqlite-connection.ts'

export interface SqliteAccountsOptions extends StoredAccountsOptions {
  /** Made where it is missing. Default `mesh_companion_account`. */
  readonly table?: string
}

/** The accounts of a server in a table of SQLite. Several processes may share it. */
export function sqliteAccounts(connection: SqliteConnection, options: SqliteAccountsOptions = {}): StoredAccounts {
  const { most = MOST_ACCOUNTS } = options
  const name = quotedName(options.table ?? 'mesh_companion_account')
  const table = openTable(connection, schemaOf(name), limitOf(options))
  const requireChange = async (changes: Promise<number>) => {
    if ((await changes) === 0) throw unknownAccount()
  }

  return {
    find: async (domain, id) => {
      const sql = `SELECT name, email, email_verified, site_admin FROM ${name} WHERE domain = ? AND id = ?`
      const [row] = await table.all(sql, domain, id)
      if (!row) return undefined
      return {
        id,
        name: String(row.name),
        email: row.email === null ? null : String(row.email),
        emailVerified: row.email_verified === null ? null : row.email_verified === 1,
        siteAdmin: row.site_admin === 1,
      }
    },
    create: async (domain, profile) => {
      // One statement: the key refuses who is there already, and nobody comes in between the count and the new row.
      const sql = `INSERT INTO ${name} (domain, id, name, email, email_verified, site_admin) SELECT ?, ?, ?, ?, ?, 0
        WHERE (SELECT count(*) FROM (SELECT 1 FROM ${name} WHERE domain = ? AND id <> ? LIMIT ?)) < ?`
      const { id, email, emailVerified } = profile
      const values = [domain, id, profile.name, email, asInteger(emailVerified), domain, id, most, most]
      const added = await table.run(sql, ...values).catch((error: unknown) => {
        throw isConstraint(error) ? accountExists() : error
      })
      if (added === 0) throw new LoginError('account_limit', { details: { user: id } })
    },
    update: (domain, profile) => {
      const sql = `UPDATE ${name} SET name = ?, email = ?, email_verified = ? WHERE domain = ? AND id = ?`
      const { id, email, emailVerified } = profile
      return requireChange(table.run(sql, profile.name, email, asInteger(emailVerified), domain, id))
    },
    setSiteAdmin: (domain, id, siteAdmin) => {
      const sql = `UPDATE ${name} SET site_admin = ? WHERE domain = ? AND id = ?`
      return requireChange(table.run(sql, Number(siteAdmin), domain, id))
    },
  }
}

function schemaOf(name: string): string {
  return `CREATE TABLE IF NOT EXISTS ${name} (
    domain TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    email TEXT,
    email_verified INTEGER,
    site_admin INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (domain, id)
  ) STRICT, WITHOUT ROWID`
}

function asInteger(value: boolean | null): number | null {
  return value === null ? null : Number(value)
}

function isConstraint(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'SQLITE_CONSTRAINT'
}
