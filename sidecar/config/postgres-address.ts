/**
 * Whether `database` is the address of a PostgreSQL database, and not a file. Such an address may hold a password: it
 * is never shown.
 */
export function isPostgresAddress(database: string): boolean {
  return /^\s*postgres(ql)?:\/\//i.test(database)
}

/** Whether it is an address at all: no file is meant by that, and one of its name would show the password. */
export function isAddress(database: string): boolean {
  return /^\s*[a-z][a-z\d+.-]*:\/\//i.test(database)
}

/**
 * As libpq takes it, an address may name several hosts, each with its port, and say that it means the one that takes
 * writes, which is what happens anyway: one address for each host.
 */
export function addressesOf(address: string): readonly string[] {
  const [scheme = ''] = /^\s*[a-z]+:\/\//i.exec(address) ?? []
  const [authority = ''] = /^[^/?#]*/.exec(address.slice(scheme.length)) ?? []
  const hostsAt = authority.lastIndexOf('@') + 1
  const before = scheme + authority.slice(0, hostsAt)
  const hosts = authority.slice(hostsAt)
  const rest = address
    .slice(scheme.length + authority.length)
    .replace(/\?target_session_attrs=(?:read-write|primary)\s*$/, '')
  return hosts.split(',').map((host) => before + host + rest)
}

/** Where a PostgreSQL database is, without user and password: `db.example:5433/mesh`. */
export function shownAddress(address: string): string {
  const addresses = addressesOf(address)
  if (!addresses.every((one) => URL.canParse(one))) return 'PostgreSQL'
  const hosts = addresses.map((one) => new URL(one).host)
  // A folder of a socket is written with % in it.
  return hosts.join().replaceAll(/%2f/gi, '/') + new URL(addresses[0] ?? '').pathname
}
