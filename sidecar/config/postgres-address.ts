/**
 * Returns whether `database` is the address of a PostgreSQL database rather than a file. Never show such an address,
 * because it may contain a password.
 */
export function isPostgresAddress(database: string): boolean {
  return /^\s*postgres(ql)?:\/\//i.test(database)
}

/**
 * Returns whether `database` is an address of any scheme. Never use it as a file name, because it may contain a
 * password.
 */
export function isAddress(database: string): boolean {
  return /^\s*[a-z][a-z\d+.-]*:\/\//i.test(database)
}

/**
 * Returns one address for each host in `address`, as libpq allows several. Removes the parameter that selects the
 * primary server, which the sidecar always uses.
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

/** Returns a PostgreSQL address without user and password, such as `db.example:5433/mesh`. */
export function shownAddress(address: string): string {
  const addresses = addressesOf(address)
  if (!addresses.every((single) => URL.canParse(single))) return 'PostgreSQL'
  const hosts = addresses.map((single) => new URL(single).host)
  // The folder of a Unix socket is percent-encoded in the address.
  return hosts.join().replaceAll(/%2f/gi, '/') + new URL(addresses[0] ?? '').pathname
}
