/** Whether `database` is the address of a PostgreSQL database, and not a file. Such an address may hold a password: it is never shown. */
export function isPostgresAddress(database: string): boolean {
  return /^postgres(ql)?:\/\//i.test(database)
}
