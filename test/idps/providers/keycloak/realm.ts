import { PEOPLE, type Person } from '../../support/people.ts'
import type { Admin } from './admin.ts'
import { groupMapper } from './client.ts'

export const REALM = 'mesh'

type Json = Readonly<Record<string, unknown>>

interface Named {
  readonly id: string
  readonly name: string
}
interface Mapper extends Named {
  readonly protocolMapper: string
  readonly config: Readonly<Record<string, string>>
}

/** Recreates the realm with its users and groups. */
export async function makeRealm(admin: Admin, keys: Json, realm = REALM): Promise<void> {
  await admin.delete(`/${realm}`).catch(() => undefined)
  await admin.post('', {
    realm,
    enabled: true,
    eventsEnabled: true,
    components: keys,
    // Hash passwords quickly: Keycloak's default takes a quarter of a second each, and no case is about it.
    passwordPolicy: 'hashAlgorithm(pbkdf2-sha256) and hashIterations(1)',
    groups: [...new Set(PEOPLE.flatMap(({ groups }) => groups))].map((name) => ({ name })),
    users: PEOPLE.map((person) => ({ ...toUser(person), groups: person.groups.map((name) => `/${name}`) })),
  })
}

/**
 * Converts a person to a Keycloak user. Without e-mail address and both names, a page asks for them at the first login.
 */
export function toUser(person: Person) {
  return {
    username: person.username,
    enabled: true,
    email: person.email,
    emailVerified: true,
    firstName: person.givenName,
    lastName: person.familyName,
    credentials: [{ type: 'password', value: person.password, temporary: false }],
  }
}

export async function findUser(admin: Admin, { username }: Person, realm = REALM): Promise<{ readonly id: string }> {
  const [user] = await admin.get<{ id: string }[]>(`/${realm}/users?exact=true&username=${username}`)
  if (!user) throw new Error(`Keycloak knows no ${username}`)
  return user
}

interface OwnSession {
  readonly id: string
  /** Milliseconds since 1970, in whole seconds. */
  readonly start: number
}

export async function sessionsOf(admin: Admin, person: Person, realm = REALM): Promise<readonly OwnSession[]> {
  const { id } = await findUser(admin, person, realm)
  return admin.get<OwnSession[]>(`/${realm}/users/${id}/sessions`)
}

/** Sets the groups of a user to exactly these. */
export async function setGroups(admin: Admin, userId: string, names: readonly string[]): Promise<void> {
  const path = `/${REALM}/users/${userId}/groups`
  const all = await admin.get<Named[]>(`/${REALM}/groups`)
  for (const name of names.filter((wanted) => !all.some((group) => group.name === wanted))) {
    await admin.post(`/${REALM}/groups`, { name })
  }
  const groups = await admin.get<Named[]>(`/${REALM}/groups`)
  const held = await admin.get<Named[]>(path)
  for (const { id, name } of held) if (!names.includes(name)) await admin.delete(`${path}/${id}`)
  for (const { id, name } of groups) if (names.includes(name)) await admin.put(`${path}/${id}`)
}

/**
 * Follows "Client scopes → Create client scope" for `groups` with the mapper in it, then the client's own "Client
 * scopes → Add client scope → Optional".
 */
export async function addGroupScope(admin: Admin, clientId: string, place?: 'id_token' | 'userinfo'): Promise<void> {
  await admin.post(`/${REALM}/client-scopes`, {
    name: 'groups',
    protocol: 'openid-connect',
    attributes: { 'include.in.token.scope': 'true' },
    protocolMappers: [groupMapper(place)],
  })
  const client = await findClient(admin, clientId)
  const scope = (await admin.get<Named[]>(`/${REALM}/client-scopes`)).find(({ name }) => name === 'groups')
  await admin.put(`/${REALM}/clients/${client?.id}/optional-client-scopes/${scope?.id}`)
}

export async function findClient(admin: Admin, clientId: string): Promise<{ readonly id: string } | undefined> {
  const [client] = await admin.get<{ id: string }[]>(`/${REALM}/clients?clientId=${encodeURIComponent(clientId)}`)
  return client
}

/** Sets where the realm's scopes send name and e-mail address. */
export async function sendClaimsIn(admin: Admin, place: 'id_token' | 'userinfo'): Promise<void> {
  type Scope = Named & { readonly protocolMappers?: readonly Mapper[] }
  for (const scope of await admin.get<Scope[]>(`/${REALM}/client-scopes`)) {
    if (scope.name !== 'profile' && scope.name !== 'email') continue
    for (const mapper of scope.protocolMappers ?? []) {
      if (!['full name', 'email', 'email verified'].includes(mapper.name)) continue
      const config = {
        ...mapper.config,
        'id.token.claim': String(place === 'id_token'),
        'userinfo.token.claim': String(place === 'userinfo'),
      }
      await admin.put(`/${REALM}/client-scopes/${scope.id}/protocol-mappers/models/${mapper.id}`, { ...mapper, config })
    }
  }
}

/** Adds a new signing key and removes the previous one. */
export async function replaceKeys(admin: Admin): Promise<void> {
  const { id: realmId } = await admin.get<Named>(`/${REALM}`)
  const type = 'org.keycloak.keys.KeyProvider'
  const previous = await admin.get<Named[]>(`/${REALM}/components?type=${type}`)
  await admin.post(`/${REALM}/components`, {
    name: 'rsa-next',
    providerId: 'rsa-generated',
    providerType: type,
    parentId: realmId,
    config: { priority: ['200'], keyUse: ['SIG'], algorithm: ['RS256'], keySize: ['2048'] },
  })
  for (const { id, name } of previous) if (name === 'RS256') await admin.delete(`/${REALM}/components/${id}`)
}
