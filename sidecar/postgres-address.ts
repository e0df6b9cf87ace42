/** Whether `database` is the address of a PostgreSQL database, and not a file. Such an address may hold a password: it is never shown. */
export function isPostgresAddress(database: string): boolean {
  return /^postgres(ql)?:\/\//i.test(database)
}

/** Where a PostgreSQL database is, without user and password: `db.example:5433/mesh`. */
export function shownAddress(address: string): string {
  if (!URL.canParse(address)) return 'PostgreSQL'
  const { host, pathname } = new URL(address)
  return host + pathname
}
