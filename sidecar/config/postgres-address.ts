/**
 * Returns whether `database` is the address of a PostgreSQL database, not a file. Such an address may contain a
 * password, so it must not be shown.
 */
export function isPostgresAddress(database: string): boolean {
  return /^\s*postgres(ql)?:\/\//i.test(database)
}

/**
 * Returns whether `database` is an address of any scheme. It may contain a password, so it must not become a file name.
 */
export function isAddress(database: string): boolean {
  return /^\s*[a-z][a-z\d+.-]*:\/\//i.test(database)
}

/**
 * Returns one address for each host in `address`. As with libpq, an address may name several hosts with their ports. It
 * may also ask for the primary; that parameter is removed, because the sidecar always uses the primary.
 */
export function addressesOf(address: string): readonly string[] {
  const [scheme = ''] = /^\s*[a-z]+:\/\//i.exec(address) ?? []
  const [authority = ''] = /^[^/?#]*/.exec(address.slice(scheme.length)) ?? []
  const hostsAt = authority.lastIndexOf('@') + 1
  const prefix = scheme + authority.slice(0, hostsAt)
  const hosts = authority.slice(hostsAt)
  const rest = address
    .slice(scheme.length + authority.length)
    .replace(/\?target_session_attrs=(?:read-write|primary)\s*$/, '')
  return hosts.split(',').map((host) => prefix + host + rest)
}

/** Returns a PostgreSQL address without user and password: `db.example:5433/mesh`. */
export function shownAddress(address: string): string {
  const addresses = addressesOf(address)
  if (!addresses.every((single) => URL.canParse(single))) return 'PostgreSQL'
  const hosts = addresses.map((single) => new URL(single).host)
  // The folder of a Unix socket is percent-encoded in the address.
  return hosts.join().replaceAll(/%2f/gi, '/') + new URL(addresses[0] ?? '').pathname
}
