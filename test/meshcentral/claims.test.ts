import { expect } from 'chai'
import { linesOf, pluginLines } from './support/auth-log.ts'
import { type MeshOptions, type MeshSetup, type Person, setUpMesh, userKey } from './support/mesh-setup.ts'
import { isApp, messageOn, signIn } from './support/session.ts'

const SCOPES = { directory: ['oid'] }
/** Entra ID sends `oid` in the ID token, but not in UserInfo. */
const withoutOid = (claims: unknown) => {
  const { oid: _, ...rest } = claims as Record<string, unknown>
  return rest
}

/** Configurations that worked with the built-in strategy, at IdPs that send claims in only one of two places. */
describe("accounts that MeshCentral's built-in strategy created", () => {
  let setup: MeshSetup
  afterEach(() => setup.close())

  const start = async (options: MeshOptions) => {
    setup = await setUpMesh({ ...options, strategy: 'built-in' })
    return setup
  }
  const signInAs = (person: Person) => signIn(setup, setup.browser(), person)

  it('logs a warning if a refused user has an existing account identified by sub', async () => {
    const byClaims = (claims: object, newAccounts = true) => ({
      domains: { '': { oidc: { newAccounts, custom: { scope: 'openid profile email directory', claims } } } },
    })
    await start({ ...byClaims({ uuid: 'oid' }), idp: { scopes: SCOPES } })
    setup.idp.faults.set('userinfo', { kind: 'rewrite', body: withoutOid })
    const person = setup.person({ oid: 'D-7' })
    await signInAs(person)
    const created = await setup.account(person)

    await setup.restart({ ...byClaims({ uuid: 'oid' }, false), strategy: 'ours' })
    let refused: number | null = null
    await linesOf(setup, async () => {
      refused = messageOn(await signInAs(person))
    })
    expect(refused, 'Unable to create account').to.equal(100)
    const lines = await pluginLines(setup)
    const ids = { user: '~oidc:D-7', otherAccount: `~oidc:${person.sub}` }
    const [warning, ...more] = lines.filter(({ event }) => event === 'account-under-other-id')
    expect(more).to.deep.equal([])
    expect(warning).to.deep.include({ level: 'WARN', fields: ids })
    expect(warning?.message).to.match(/write `"uuid": "sub"` into `custom\.claims`\.$/)
    expect(lines.find(({ event }) => event === 'login-failed')?.fields).to.include({ code: 'account_unknown', ...ids })
    const warned = lines.filter(({ event }) => event === 'configuration-warning').map(({ fields }) => fields.code)
    expect(warned).to.include('other_id')

    await setup.restart(byClaims({ uuid: 'sub' }, false))
    expect(isApp(await signInAs(person))).to.equal(true)
    expect((await setup.account(person)).creation).to.equal(created.creation)
    expect((await setup.data.records()).has(userKey({ sub: 'D-7' }))).to.equal(false)
  })

  it('an account keeps its name if the scope lacks profile and UserInfo answers 401', async () => {
    const withScope = (scope: string) => ({ domains: { '': { oidc: { custom: { scope } } } } })
    await start({ ...withScope('openid profile email'), idp: { claimsIn: 'both' } })
    const person = setup.person({ name: 'Before The Plugin' })
    await signInAs(person)
    expect((await setup.account(person)).name).to.equal('Before The Plugin')

    await setup.restart({ ...withScope('openid email'), strategy: 'ours' })
    setup.idp.faults.set('userinfo', { kind: 'answer', status: 401 })
    setup.person({ email: 'new@example.test' }, person)
    expect(isApp(await signInAs(person))).to.equal(true)
    const account = await setup.account(person, '', ({ email }) => email === 'new@example.test')
    expect(account.name).to.equal('Before The Plugin')
    const failures = (await pluginLines(setup)).filter(({ event }) => event === 'userinfo-failed')
    expect(failures.map(({ fields }) => fields.status)).to.deep.equal([401])
  })
})
