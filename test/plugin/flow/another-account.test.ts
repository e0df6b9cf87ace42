import { expect } from 'chai'
import { DEMO_USERS } from '../../../fixtures/idp/users.ts'
import { type Setup, setups, whoAmI } from '../../support/sign-in-setup.ts'

describe('login after a refused login', () => {
  const start = setups()

  const REFUSING = { groups: { required: 'mesh-admins' } }
  const promptOf = async ({ redirectFrom }: Setup, person?: ReturnType<Setup['browser']>) =>
    (await redirectFrom('auth-oidc', person)).searchParams.get('prompt')

  it('after a refused login, later logins ask for credentials until one succeeds', async () => {
    const setup = await start({ oidc: REFUSING })
    const { host } = setup
    const { person, page: refused, failure } = await setup.signIn('bob')
    expect(refused.url).to.match(/failure=access_denied$/)
    expect(failure?.code).to.equal('not_in_required_group')
    expect(await promptOf(setup, person)).to.equal('login')
    expect(await promptOf(setup)).to.equal(null)
    const page = await person.signIn(await person.get(`${host.url}auth-oidc`), 'alice', 'alice-demo')
    expect(page.url).to.equal(host.url)
    expect(await whoAmI(person, host.url)).to.include({ status: 200, name: DEMO_USERS[0]?.claims.name })
    expect(await promptOf(setup, person)).to.equal(null)
  })

  it('the login after a refused one sends prompt=select_account if the IdP supports it', async () => {
    const publishes = { prompt_values_supported: ['none', 'login', 'select_account'] }
    const setup = await start({ oidc: REFUSING, publishes })
    const { person } = await setup.signIn('bob')
    expect(await promptOf(setup, person)).to.equal('select_account')
  })

  it('sends no prompt parameter after a login that failed because of an IdP error', async () => {
    const setup = await start()
    setup.idp.faults.set('token', { kind: 'answer', status: 500 }, 1)
    const { person } = await setup.signIn('bob')
    expect(await promptOf(setup, person)).to.equal(null)
  })
})
