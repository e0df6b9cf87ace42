import { expect } from 'chai'
import { setups } from '../../support/sign-in-setup.ts'

describe('who gets an account', () => {
  const start = setups()

  it('is nobody with newAccounts false, whatever the host says, and the log says so', async () => {
    const setup = await start({ oidc: { newAccounts: false }, domain: { newAccounts: true } })
    const { page, who, failure } = await setup.signIn()
    expect(page.url).to.match(/\/login\?failure=access_denied$/)
    expect(page.text).to.include('may not use this server')
    expect(who.status).to.equal(401)
    expect(await setup.host.records.accounts.find('', '~oidc:u-1001')).to.equal(undefined)
    expect(failure).to.include({ code: 'account_unknown', user: '~oidc:u-1001' })
    expect(setup.authLog.at(-1)?.message).to.include('newAccounts')
  })

  it('has it under the name of the strategy: no account of another one is taken over', async () => {
    const { host, signIn } = await start()
    const other = { id: '~other:u-1001', name: 'Somebody', email: 'alice@example.test', emailVerified: true }
    await host.records.accounts.create('', other as never)
    expect((await signIn()).who.id).to.equal('~oidc:u-1001')
    expect(await host.records.accounts.find('', other.id as never)).to.include({ name: 'Somebody' })
  })
})
