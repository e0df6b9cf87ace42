/** Whether `database` is the address of a PostgreSQL database, and not a file. Such an address may hold a password: it is never shown. */
export function isPostgresAddress(database: string): boolean {
  return /^\s*postgres(ql)?:\/\//i.test(database)
}

/** Whether it is an address at all: no file is meant by that, and one of its name would show the password. */
export function isAddress(database: string): boolean {
  return /^\s*[a-z][a-z\d+.-]*:\/\//i.test(database)
}
