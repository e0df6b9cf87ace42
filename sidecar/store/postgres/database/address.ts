import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { isLoopback } from '../../../config/address-scope.ts'
import { addressesOf } from '../../../config/postgres-address.ts'
import { StoreError } from '../../../errors.ts'

/** One host of the PostgreSQL address in the setting `database`, with the database and the user. */
export interface DatabaseAddress {
  /** A host name, an IP address, or the folder of a Unix socket. */
  readonly host: string
  readonly port: number
  readonly database: string
  /** User and password. If one is absent, libpq's environment variables and its password file apply. */
  readonly user: string | undefined
  readonly password: string | undefined
}

const DEFAULT_PORT = 5432

/** Parses `postgres://user:password@host:port,host:port/database`. Returns one address for each host. */
export function readAddresses(address: string): readonly DatabaseAddress[] {
  return addressesOf(address).map(readAddress)
}

/** Parses an address with one host. Never throws `URL`'s own error, because that would quote the password. */
export function readAddress(address: string): DatabaseAddress {
  if (!URL.canParse(address)) throw new StoreError('database_unreachable')
  const { hostname, port, pathname, username, password } = new URL(address)
  const decoded = (text: string) => (text === '' ? undefined : decodeURIComponent(text))
  const user = decoded(username)
  return {
    host: decodeURIComponent(hostname).replace(/^\[|\]$/g, ''),
    port: port === '' ? DEFAULT_PORT : Number(port),
    database: decoded(pathname.slice(1)) ?? user ?? 'postgres',
    user,
    password: decoded(password),
  }
}

/** Returns whether a connection to this address stays on this machine. */
export function isLocal({ host }: DatabaseAddress): boolean {
  // Only an IP address is checked for loopback, because a host name that starts with `127.` may belong to any machine.
  return host === 'localhost' || host.startsWith('/') || (isIP(host) !== 0 && isLoopback(host))
}

/**
 * Returns the TLS options for an address. TLS is required, unless the address is on this machine and no CA is
 * configured. The certificate must name the host.
 */
export async function tlsTo(
  address: DatabaseAddress,
  caFile: string | null,
): Promise<false | { readonly ca?: string; readonly rejectUnauthorized: true }> {
  if (caFile !== null) return { ca: await readCa(caFile), rejectUnauthorized: true }
  return isLocal(address) ? false : { rejectUnauthorized: true }
}

async function readCa(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw new StoreError('database_untrusted', { cause })
  }
}
