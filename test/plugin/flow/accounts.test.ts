import { expect } from 'chai'
import { setups } from '../../support/sign-in-setup.ts'

describe('who gets an account', () => {
  const start = setups()

  const outcome = async (newAccounts: boolean | undefined, ofHost?: boolean) => {
    const setup = await start({
      oidc: ({ idp }) => ({ issuer: idp.issuer, newAccounts }),
      ...(ofHost === undefined ? {} : { domain: { newAccounts: ofHost } }),
    })
    const visit = await setup.signIn()
    const account = await setup.host.records.accounts.find('', '~oidc:u-1001')
    return { setup, ...visit, account, line: setup.authLog.at(-1) }
  }

  it('is everybody with newAccounts true, whatever the host says', async () => {
    const { page, who, setup, line } = await outcome(true, false)
    expect(page.url).to.equal(setup.host.url)
    expect(who).to.include({ status: 200, id: '~oidc:u-1001' })
    expect(line).to.deep.include({ event: 'login', level: 'info' })
  })

  it('is nobody with newAccounts false, whatever the host says, and the log says so', async () => {
    const { page, who, account, line } = await outcome(false, true)
    expect(page.url).to.match(/\/login\?failure=access_denied$/)
    expect(page.text).to.include('may not use this server')
    expect([who.status, account]).to.deep.equal([401, undefined])
    expect(line?.fields).to.include({ code: 'account_unknown', user: '~oidc:u-1001' })
    expect(line?.message).to.include('newAccounts')
  })

  it('is what the host says where newAccounts is absent, and nobody where it says nothing', async () => {
    expect((await outcome(undefined, true)).who.status).to.equal(200)
    expect((await outcome(undefined, false)).who.status).to.equal(401)
    expect((await outcome(undefined)).who.status).to.equal(401)
  })

  it('has it under the name of the strategy: no account of another one is taken over', async () => {
    const { host, signIn } = await start()
    const other = { id: '~other:u-1001', name: 'Somebody', email: 'alice@example.test', emailVerified: true }
    await host.records.accounts.create('', other as never)
    expect((await signIn()).who.id).to.equal('~oidc:u-1001')
    expect(await host.records.accounts.find('', other.id as never)).to.include({ name: 'Somebody' })
  })
})
