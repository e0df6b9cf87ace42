import { expect } from 'chai'
import { codeBlocks, readDocument } from '../../../support/documents.ts'
import { until } from '../../../support/until.ts'
import { expectRefused, signInAs, signOutFully } from '../../matrix/expectations.ts'
import type { Bench } from '../../matrix/run.ts'
import type { LabOptions } from '../../support/lab.ts'
import { ALICE, BOB, CAROL } from '../../support/people.ts'
import type { Registered } from '../../support/real-idp.ts'
import type { Keycloak } from '../keycloak.ts'
import { groupMapper } from './client.ts'
import { addGroupScope, findClient, findUser, REALM } from './realm.ts'

const PAGE = readDocument('plugin/docs/providers/keycloak.md')
const [CONFIG = '', GROUPS = '', ROLES = ''] = codeBlocks(PAGE, 'json')

interface Mapper {
  readonly id: string
  readonly name: string
  readonly config: Readonly<Record<string, string>>
}

/**
 * Follows the documentation page on Keycloak: makes each step by the admin API as the console would, and uses the
 * page's own configuration.
 */
export function describeGuide(bench: () => Bench<Keycloak>): void {
  /** Sends what "Create client" sends if the administrator changes only what the page names. */
  const createClient = async (url: string, settings: object = {}): Promise<Registered> => {
    const { admin } = bench().idp
    await admin.post(`/${REALM}/clients`, {
      protocol: 'openid-connect',
      clientId: 'mesh',
      publicClient: false,
      authorizationServicesEnabled: false,
      serviceAccountsEnabled: false,
      standardFlowEnabled: true,
      implicitFlowEnabled: false,
      directAccessGrantsEnabled: false,
      // The default of the admin console.
      frontchannelLogout: true,
      redirectUris: [`${url}auth-oidc-callback`],
      attributes: { 'post.logout.redirect.uris': `${url}login` },
      ...settings,
    })
    const { value } = await admin.get<{ value: string }>(`/${REALM}/clients/${await clientId()}/client-secret`)
    return { client_id: 'mesh', client_secret: value }
  }
  const clientId = async () => (await findClient(bench().idp.admin, 'mesh'))?.id
  const addMapper = async () =>
    bench().idp.admin.post(`/${REALM}/clients/${await clientId()}/protocol-mappers/models`, groupMapper())

  /** Starts a host with the page's configuration, but with this issuer, this secret and addresses on loopback. */
  const labOfTheGuide = (options: LabOptions = {}) => {
    const { issuer, client, ...rest } = JSON.parse(CONFIG).domains[''].authStrategies.oidc
    const { origin } = new URL(bench().idp.issuer)
    expect(issuer.replace('https://keycloak.example.org', origin).replace('example', REALM)).to.equal(
      bench().idp.issuer,
    )
    expect(client).to.have.all.keys('client_id', 'client_secret')
    expect(client.client_id).to.equal('mesh')
    return bench().lab({ register: createClient, ...options, oidc: { ...rest, ...options.oidc } })
  }
  const groups = () => JSON.parse(`{${GROUPS}}`).groups

  it('a Keycloak client made by the documented steps signs a user in and out', async () => {
    const lab = await labOfTheGuide()
    const { browser } = await signInAs(lab, ALICE)
    await signOutFully(lab, browser)
    expect(await lab.idp.ownSessions(ALICE)).to.equal(0)
  })

  it('the documented Keycloak mapper and rules admit users by groups', async () => {
    const lab = await labOfTheGuide({ groups: groups() })
    await addMapper()
    const [alice, bob] = [await signInAs(lab, ALICE), await signInAs(lab, BOB)]
    expect(alice.me).to.include({ siteAdmin: true })
    expect(alice.me.userGroups).to.have.members(['/mesh-users', '/mesh-admins'])
    expect(bob.me).to.include({ siteAdmin: false })
    expectRefused(lab, await lab.signIn(CAROL), 'not_in_required_group', [/groups\.required/])
  })

  it("a Keycloak subgroup with an admin group's name grants no site admin", async () => {
    const { admin } = bench().idp
    const lab = await labOfTheGuide({ groups: groups() })
    await addMapper()
    const [users] = await admin.get<{ id: string }[]>(`/${REALM}/groups?search=mesh-users&exact=true`)
    await admin.post(`/${REALM}/groups/${users?.id}/children`, { name: 'mesh-admins' })
    const [child] = await admin.get<{ id: string }[]>(`/${REALM}/groups/${users?.id}/children`)
    const { id } = await findUser(admin, BOB)
    await admin.put(`/${REALM}/users/${id}/groups/${child?.id}`)
    const bob = await signInAs(lab, BOB)
    expect(bob.me).to.include({ siteAdmin: false })
    expect(bob.me.userGroups).to.include('/mesh-users/mesh-admins')
  })

  it('a login that requests the scope groups needs a client scope groups at Keycloak', async () => {
    const { scope: _none, ...rules } = groups()
    const lab = await labOfTheGuide({ groups: rules })
    expectRefused(lab, await lab.signIn(ALICE), 'scope_refused', [/invalid_scope/, /groups\.scope/])
    await addGroupScope(bench().idp.admin, 'mesh')
    expect((await lab.signIn(ALICE)).me).to.include({ status: 200, siteAdmin: true })
  })

  it('the documented Keycloak setting admits users by realm roles', async () => {
    const { admin } = bench().idp
    const rules = JSON.parse(`{${ROLES}}`).groups
    const lab = await labOfTheGuide({ groups: rules })
    await admin.post(`/${REALM}/roles`, { name: 'mesh-operator' })
    const role = await admin.get(`/${REALM}/roles/mesh-operator`)
    await admin.post(`/${REALM}/users/${(await findUser(admin, BOB)).id}/role-mappings/realm`, [role])
    // Keycloak puts roles only into the access token by default.
    expectRefused(lab, await lab.signIn(BOB), 'not_in_required_group', [/realm_access\.roles/])

    type Scope = { readonly id: string; readonly name: string; readonly protocolMappers?: readonly Mapper[] }
    const roles = (await admin.get<Scope[]>(`/${REALM}/client-scopes`)).find(({ name }) => name === 'roles')
    const mapper = roles?.protocolMappers?.find(({ name }) => name === 'realm roles')
    await admin.put(`/${REALM}/client-scopes/${roles?.id}/protocol-mappers/models/${mapper?.id}`, {
      ...mapper,
      config: { ...mapper?.config, 'id.token.claim': 'true' },
    })
    await signInAs(lab, BOB)
    expectRefused(lab, await lab.signIn(ALICE), 'not_in_required_group', [/groups\.required/])
  })

  it('Keycloak sends logout tokens only if front channel logout is off', async () => {
    const { idp } = bench()
    const telling = (url: string) => ({
      attributes: {
        'post.logout.redirect.uris': `${url}login`,
        'backchannel.logout.url': `${url}auth-oidc-backchannel-logout`,
        'backchannel.logout.session.required': 'false',
      },
    })
    const lab = await labOfTheGuide({ register: (url) => createClient(url, telling(url)) })
    const first = await signInAs(lab, ALICE)
    // Keycloak answers the administrator after it has sent the logout tokens.
    await idp.endSessions?.(ALICE, 'all')
    expect((await lab.whoIs(first.browser)).status).to.equal(200)

    const client = await idp.admin.get<object>(`/${REALM}/clients/${await clientId()}`)
    await idp.admin.put(`/${REALM}/clients/${await clientId()}`, { ...client, frontchannelLogout: false })
    const [second, third] = [await lab.signIn(ALICE), await lab.signIn(ALICE)]
    await idp.disable(ALICE)
    expect((await lab.whoIs(second.browser)).status).to.equal(200)
    await idp.endSessions?.(ALICE, 'all')
    for (const { browser } of [second, third]) {
      await until('the session to end', async () => (await lab.whoIs(browser)).status === 401)
    }
  })
}
