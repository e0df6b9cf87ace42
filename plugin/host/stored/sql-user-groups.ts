import type { UserId } from '../port.ts'
import { type PgPoolOfClients, pgStatements } from './pg-connection.ts'
import { limitOf, type StoredOptions, type StoredUserGroups } from './records.ts'
import type { SqlRow, SqlTable } from './sql-table.ts'
import { type SqliteConnection, sqliteTable } from './sqlite-connection.ts'

export interface SqliteUserGroupsOptions extends StoredOptions {
  /**
   * The name of the table of memberships. The table is created if it is missing. Default: `mesh_companion_membership`.
   */
  readonly table?: string
}

export type PgUserGroupsOptions = SqliteUserGroupsOptions

/** Values of the column `mirrored`. */
const MIRRORED = 1
const BY_HAND = 0

const TABLE = 'mesh_companion_membership'
const COLUMNS = `
  domain TEXT NOT NULL,
  user_id TEXT NOT NULL,
  group_name TEXT NOT NULL,
  mirrored INTEGER NOT NULL,
  PRIMARY KEY (domain, user_id, group_name, mirrored)`

/** Keeps a server's user groups in a table of SQLite, one row per membership. Several processes may share it. */
export function sqliteUserGroups(
  connection: SqliteConnection,
  options: SqliteUserGroupsOptions = {},
): StoredUserGroups {
  return sqlUserGroups(sqliteTable(connection, options.table ?? TABLE, COLUMNS, limitOf(options)))
}

/** Keeps a server's user groups in a table of PostgreSQL, one row per membership, for all processes that share it. */
export function pgUserGroups(pool: PgPoolOfClients, options: PgUserGroupsOptions = {}): StoredUserGroups {
  return sqlUserGroups(pgStatements(pool, options.table ?? TABLE, COLUMNS, limitOf(options)))
}

function sqlUserGroups(table: SqlTable): StoredUserGroups {
  const namesIn = (rows: readonly SqlRow[]) => rows.map(({ name }) => String(name))
  const ofUser = `FROM ${table.name} WHERE domain = $1 AND user_id = $2`
  const join = (kind: number) => async (domain: string, id: UserId, name: string) => {
    const sql = `INSERT INTO ${table.name} (domain, user_id, group_name, mirrored) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`
    await table.run(sql, domain, id, name, kind)
  }
  const leave = (kind: number) => async (domain: string, id: UserId, name: string) => {
    await table.run(`DELETE ${ofUser} AND group_name = $3 AND mirrored = $4`, domain, id, name, kind)
  }

  return {
    mirroredOf: async (domain, id) =>
      namesIn(await table.all(`SELECT group_name AS name ${ofUser} AND mirrored = $3`, domain, id, MIRRORED)),
    join: join(MIRRORED),
    leave: leave(MIRRORED),
    joinByHand: join(BY_HAND),
    leaveByHand: leave(BY_HAND),
    // Sort here and not in SQL, because each database sorts differently.
    allOf: async (domain, id) => namesIn(await table.all(`SELECT group_name AS name ${ofUser}`, domain, id)).sort(),
  }
}
