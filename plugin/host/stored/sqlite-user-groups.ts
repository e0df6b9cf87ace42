import type { UserId } from '../port.ts'
import { limitOf, type StoredOptions, type StoredUserGroups } from './records.ts'
import { openTable, quotedName, type SqliteConnection } from './sqlite-connection.ts'

export interface SqliteUserGroupsOptions extends StoredOptions {
  /** Of the memberships. Made where it is missing. Default `mesh_companion_membership`. */
  readonly table?: string
}

/** Kinds of groups. */
const MIRRORED = 1
const BY_HAND = 0

/** The user groups of a server in a table of SQLite, a row for each membership. Several processes may share it. */
export function sqliteUserGroups(
  connection: SqliteConnection,
  options: SqliteUserGroupsOptions = {},
): StoredUserGroups {
  const table = quotedName(options.table ?? 'mesh_companion_membership')
  const memberships = openTable(connection, schemaOf(table), limitOf(options))
  const namesIn = (rows: readonly Readonly<Record<string, unknown>>[]) => rows.map(({ name }) => String(name))
  const join = (kind: number) => async (domain: string, id: UserId, name: string) => {
    const sql = `INSERT INTO ${table} (domain, user_id, group_name, mirrored) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`
    await memberships.run(sql, domain, id, name, kind)
  }
  const leave = (kind: number) => async (domain: string, id: UserId, name: string) => {
    const sql = `DELETE FROM ${table} WHERE domain = ? AND user_id = ? AND group_name = ? AND mirrored = ?`
    await memberships.run(sql, domain, id, name, kind)
  }

  return {
    mirroredOf: async (domain, id) => {
      const sql = `SELECT group_name AS name FROM ${table} WHERE domain = ? AND user_id = ? AND mirrored = ${MIRRORED}`
      return namesIn(await memberships.all(sql, domain, id))
    },
    join: join(MIRRORED),
    leave: leave(MIRRORED),
    joinByHand: join(BY_HAND),
    leaveByHand: leave(BY_HAND),
    allOf: async (domain, id) => {
      const sql = `SELECT group_name AS name FROM ${table} WHERE domain = ? AND user_id = ? ORDER BY name`
      return namesIn(await memberships.all(sql, domain, id))
    },
  }
}

function schemaOf(table: string): string {
  return `CREATE TABLE IF NOT EXISTS ${table} (
    domain TEXT NOT NULL,
    user_id TEXT NOT NULL,
    group_name TEXT NOT NULL,
    mirrored INTEGER NOT NULL,
    PRIMARY KEY (domain, user_id, group_name, mirrored)
  ) STRICT, WITHOUT ROWID`
}
