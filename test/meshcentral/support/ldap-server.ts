import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

/** The part of `ldapjs` that the server uses. MeshCentral's own LDAP client brings the package. */
interface LdapJs {
  createServer(): LdapJsServer
  readonly InvalidCredentialsError: new () => Error
}
interface LdapJsServer {
  bind(name: string, handle: (req: BindRequest, res: LdapResponse, next: (error?: Error) => void) => void): void
  search(name: string, handle: (req: SearchRequest, res: LdapResponse, next: () => void) => void): void
  listen(port: number, host: string, done: () => void): void
  address(): AddressInfo
  close(done: () => void): void
}
interface BindRequest {
  readonly dn: { toString(): string }
  readonly credentials: string
}
interface SearchRequest {
  readonly filter: { matches(attributes: Readonly<Record<string, string>>): boolean }
}
interface LdapResponse {
  send(entry: { readonly dn: string; readonly attributes: Readonly<Record<string, string>> }): void
  end(): void
}

export interface LdapServer {
  /** Members of a domain of MeshCentral that signs users in with their names and passwords of this server. */
  readonly members: Readonly<Record<string, unknown>>
  /** How often a user's password was tried. */
  passwordsTried(): number
  close(): Promise<void>
}

const BASE = 'dc=example,dc=test'
const SERVICE = { name: 'service', password: 'a-service-password' }
const nameIn = (dn: string) => /^cn=([^,]+)/.exec(dn.replaceAll(' ', ''))?.[1] ?? ''

/**
 * Starts an LDAP server on loopback with `ldapjs`, which `ldapauth-fork` installs beside MeshCentral.
 *
 * @param installation the folder of MeshCentral's installation
 */
export async function startLdapServer(
  installation: string,
  users: readonly string[],
  password: string,
): Promise<LdapServer> {
  const ldap = createRequire(join(installation, 'package.json'))('ldapjs') as LdapJs
  const server = ldap.createServer()
  let tried = 0
  server.bind(BASE, ({ dn, credentials }, res, next) => {
    const name = nameIn(dn.toString())
    const isService = name === SERVICE.name
    if (!isService) tried += 1
    const isRight = isService ? credentials === SERVICE.password : users.includes(name) && credentials === password
    if (!isRight) return next(new ldap.InvalidCredentialsError())
    res.end()
    next()
  })
  server.search(BASE, ({ filter }, res, next) => {
    for (const name of users) {
      const attributes = { objectclass: 'person', uid: name, cn: name, mail: `${name}@example.test` }
      if (filter.matches(attributes)) res.send({ dn: `cn=${name},${BASE}`, attributes })
    }
    res.end()
    next()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const ldapOptions = {
    url: `ldap://127.0.0.1:${server.address().port}`,
    bindDN: `cn=${SERVICE.name},${BASE}`,
    bindCredentials: SERVICE.password,
    searchBase: BASE,
    searchFilter: '(uid={{username}})',
  }
  return {
    members: { auth: 'ldap', ldapUserKey: 'uid', ldapUserName: 'uid', ldapOptions },
    passwordsTried: () => tried,
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}
