import { LoginError } from '../../errors.ts'
import { type PgPoolOfClients, pgStatements } from './pg-connection.ts'
import {
  accountExists,
  limitOf,
  MOST_ACCOUNTS,
  type StoredAccounts,
  type StoredAccountsOptions,
  unknownAccount,
} from './records.ts'
import type { SqlTable } from './sql-table.ts'
import { type SqliteConnection, sqliteTable } from './sqlite-connection.ts'

export interface SqliteAccountsOptions extends StoredAccountsOptions {
  /** The table's name. The table is created if it is missing. Default: `mesh_companion_account`. */
  readonly table?: string
}

export type PgAccountsOptions = SqliteAccountsOptions

const TABLE = 'mesh_companion_account'
const COLUMNS = `
  domain TEXT NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  email TEXT,
  email_verified INTEGER,
  site_admin INTEGER NOT NULL DEFAULT 0,
  issuer TEXT,
  PRIMARY KEY (domain, id)`

/** Error codes of SQLite and PostgreSQL for a primary key that already exists. */
const KEY_EXISTS: ReadonlySet<unknown> = new Set(['SQLITE_CONSTRAINT', '23505'])

/** Keeps a server's accounts in a table of SQLite, which several processes may share. */
export function sqliteAccounts(connection: SqliteConnection, options: SqliteAccountsOptions = {}): StoredAccounts {
  return sqlAccounts(sqliteTable(connection, options.table ?? TABLE, COLUMNS, limitOf(options)), options)
}

/** Keeps a server's accounts in a table of PostgreSQL, for all processes that share it. */
export function pgAccounts(pool: PgPoolOfClients, options: PgAccountsOptions = {}): StoredAccounts {
  return sqlAccounts(pgStatements(pool, options.table ?? TABLE, COLUMNS, limitOf(options)), options)
}

function sqlAccounts(table: SqlTable, { most = MOST_ACCOUNTS }: StoredAccountsOptions): StoredAccounts {
  const { name } = table
  const requireChange = async (changes: Promise<number>) => {
    if ((await changes) === 0) throw unknownAccount()
  }

  return {
    find: async (domain, id) => {
      const sql = `SELECT name, email, email_verified, site_admin, issuer FROM ${name} WHERE domain = $1 AND id = $2`
      const [row] = await table.all(sql, domain, id)
      if (!row) return undefined
      return {
        id,
        name: String(row.name),
        email: row.email === null ? null : String(row.email),
        emailVerified: row.email_verified === null ? null : row.email_verified === 1,
        siteAdmin: row.site_admin === 1,
        ...(typeof row.issuer === 'string' ? { issuer: row.issuer } : {}),
      }
    },
    create: async (domain, { id, name: displayName, email, emailVerified, issuer = null }) => {
      // Count the accounts and insert the new row in one statement, so that no other login adds an account in between.
      const sql = `INSERT INTO ${name} (domain, id, name, email, email_verified, site_admin, issuer) SELECT $1, $2, $3, $4, $5, 0, $6
        WHERE (SELECT count(*) FROM (SELECT 1 FROM ${name} WHERE domain = $1 AND id <> $2 LIMIT $7) AS others) < $7`
      const values = [domain, id, displayName, email, asInteger(emailVerified), issuer, most]
      const added = await table.runAlone(sql, ...values).catch((error: unknown) => {
        throw error instanceof Error && 'code' in error && KEY_EXISTS.has(error.code) ? accountExists() : error
      })
      if (added === 0) throw new LoginError('account_limit', { details: { user: id } })
    },
    update: (domain, { id, name: displayName, email, emailVerified, issuer = null }) => {
      const changes = 'name = $1, email = $2, email_verified = $3, issuer = coalesce($4, issuer)'
      const sql = `UPDATE ${name} SET ${changes} WHERE domain = $5 AND id = $6`
      return requireChange(table.run(sql, displayName, email, asInteger(emailVerified), issuer, domain, id))
    },
    setSiteAdmin: (domain, id, siteAdmin) => {
      const sql = `UPDATE ${name} SET site_admin = $1 WHERE domain = $2 AND id = $3`
      return requireChange(table.run(sql, Number(siteAdmin), domain, id))
    },
  }
}

function asInteger(value: boolean | null): number | null {
  return value === null ? null : Number(value)
}
