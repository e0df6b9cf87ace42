import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { isLoopback } from '../../../config/address-scope.ts'
import { addressesOf } from '../../../config/postgres-address.ts'
import { StoreError } from '../../../errors.ts'

/** Where PostgreSQL is, and as whom: what `database` says when it is an address. */
export interface DatabaseAddress {
  /** A name, an IP address, or the folder of a Unix socket. */
  readonly host: string
  readonly port: number
  readonly database: string
  /** Where these are absent, libpq's own variables and the password file count. */
  readonly user: string | undefined
  readonly password: string | undefined
}

const DEFAULT_PORT = 5432

/** Reads `postgres://user:password@host:port,host:port/database`: one for each host. */
export function readAddresses(address: string): readonly DatabaseAddress[] {
  return addressesOf(address).map(readAddress)
}

/** The same with one host. The error of a URL would quote all of it, the password too: none leaves here. */
export function readAddress(address: string): DatabaseAddress {
  if (!URL.canParse(address)) throw new StoreError('database_unreachable')
  const { hostname, port, pathname, username, password } = new URL(address)
  const given = (text: string) => (text === '' ? undefined : decodeURIComponent(text))
  const user = given(username)
  return {
    host: decodeURIComponent(hostname).replace(/^\[|\]$/g, ''),
    port: port === '' ? DEFAULT_PORT : Number(port),
    database: given(pathname.slice(1)) ?? user ?? 'postgres',
    user,
    password: given(password),
  }
}

/** Whether nothing leaves this machine on the way there. */
export function isLocal({ host }: DatabaseAddress): boolean {
  // A name may begin like an address of this machine, and lead anywhere.
  return host === 'localhost' || host.startsWith('/') || (isIP(host) !== 0 && isLoopback(host))
}

/**
 * How to speak TLS there: always, except on this machine, and there too where a CA is named. A certificate has to bear
 * the host's name.
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
