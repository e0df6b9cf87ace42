/** Whether `database` is the address of a PostgreSQL database, and not a file. Such an address may hold a password: it is never shown. */
export function isPostgresAddress(database: string): boolean {
  return /^\s*postgres(ql)?:\/\//i.test(database)
}

/** Whether it is an address at all: no file is meant by that, and one of its name would show the password. */
export function isAddress(database: string): boolean {
  return /^\s*[a-z][a-z\d+.-]*:\/\//i.test(database)
}

/** Where a PostgreSQL database is, without user and password: `db.example:5433/mesh`. */
export function shownAddress(address: string): string {
  if (!URL.canParse(address)) return 'PostgreSQL'
  const { host, pathname } = new URL(address)
  // A folder of a socket is written with % in it.
  return host.replaceAll(/%2f/gi, '/') + pathname
}
