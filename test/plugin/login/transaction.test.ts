import { expect } from 'chai'
import fc from 'fast-check'
import { createTransactions, TRANSACTION_MS } from '../../../plugin/login/transaction/transaction.ts'
import { propertyRuns } from '../../support/property-runs.ts'

const secret = 'a secret of the host, long enough for it'
const rules = { secure: true, crossSitePost: false }
const login = { domainKey: '', returnPath: '/devices' }

/** Cookies of one browser: applies `Set-Cookie` values, gives a `Cookie` header. */
class Jar {
  readonly cookies = new Map<string, string>()
  apply(setCookies: readonly string[]) {
    for (const line of setCookies) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/Max-Age=0/.test(line)) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
  }
  get header() {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }
}

describe('login transactions', () => {
  let now = 1_700_000_000_000
  const begin = async (jar: Jar, transactions = createTransactions(secret, () => now), over = rules) => {
    const { transaction, setCookies: setCookiesFor } = transactions.begin(login, over, jar.header)
    const setCookies = setCookiesFor(2_048)
    jar.apply(setCookies)
    return { transaction, setCookies }
  }

  it('are found again by their state, with all that they hold', async () => {
    const jar = new Jar()
    const transactions = createTransactions(secret, () => now)
    const { transaction } = await begin(jar, transactions)
    const taken = transactions.take(transaction.state, rules, jar.header)
    expect(taken.transaction).to.deep.equal({ ...transaction, domainKey: '', returnPath: '/devices' })
  })

  it('have a fresh state, nonce and verifier each time', async () => {
    const { transaction: a } = await begin(new Jar())
    const { transaction: b } = await begin(new Jar())
    const values = [a.state, a.nonce, a.codeVerifier, b.state, b.nonce, b.codeVerifier]
    expect(new Set(values).size).to.equal(6)
    for (const value of values) expect(value).to.match(/^[\w-]{43}$/)
  })

  it('are good once, even for a browser that kept the cookie', async () => {
    const jar = new Jar()
    const transactions = createTransactions(secret, () => now)
    const { transaction } = await begin(jar, transactions)
    expect(transactions.take(transaction.state, rules, jar.header).transaction).to.not.equal(undefined)
    const again = transactions.take(transaction.state, rules, jar.header)
    expect(again.transaction).to.equal(undefined)
    jar.apply(again.setCookies)
    expect(jar.cookies.size).to.equal(0)
  })

  it('are unknown to another browser, and under another state', async () => {
    const transactions = createTransactions(secret, () => now)
    const jar = new Jar()
    const { transaction } = await begin(jar, transactions)
    const elsewhere = transactions.take(transaction.state, rules, undefined)
    expect(elsewhere).to.deep.equal({ transaction: undefined, setCookies: [] })
    expect(transactions.take(`${transaction.state}x`, rules, jar.header).transaction).to.equal(undefined)
  })

  it('do not open when the sealed value was changed, moved to another state, or sealed by another host', async () => {
    const transactions = createTransactions(secret, () => now)
    const jar = new Jar()
    const { transaction: first } = await begin(jar, transactions)
    const { transaction: second } = await begin(jar, transactions)
    const [[firstName, firstValue], [secondName]] = [...jar.cookies] as [[string, string], [string, string]]
    const swapped = `${secondName}=${firstValue}`
    expect(transactions.take(second.state, rules, swapped).transaction).to.equal(undefined)
    const bent = `${firstName}=${firstValue.slice(0, -2)}AA`
    expect(transactions.take(first.state, rules, bent).transaction).to.equal(undefined)
    const elsewhere = createTransactions('the secret of quite another host', () => now)
    expect(elsewhere.take(first.state, rules, jar.header).transaction).to.equal(undefined)
  })

  it('are forgotten after 10 minutes', async () => {
    const transactions = createTransactions(secret, () => now)
    const jar = new Jar()
    const { transaction: old } = await begin(jar, transactions)
    now += 1
    const { transaction: young } = await begin(jar, transactions)
    now += TRANSACTION_MS
    expect(transactions.take(old.state, rules, jar.header).transaction).to.equal(undefined)
    expect(transactions.take(young.state, rules, jar.header).transaction?.state).to.equal(young.state)
  })

  it('are under way in their own browser and domain, until they are finished or forgotten', async () => {
    const transactions = createTransactions(secret, () => now)
    const jar = new Jar()
    await begin(jar, transactions)
    const { transaction } = await begin(jar, transactions)
    const isUnderWay = (domainKey = '') => transactions.isUnderWay(domainKey, rules, jar.header)
    expect([isUnderWay(), isUnderWay('other')]).to.deep.equal([true, false])
    expect(transactions.isUnderWay('', rules, `${jar.header}x; a=b`)).to.equal(true)
    expect(transactions.isUnderWay('', rules, undefined)).to.equal(false)
    jar.apply(transactions.take(transaction.state, rules, jar.header).setCookies)
    expect(isUnderWay()).to.equal(true)
    now += TRANSACTION_MS + 1
    expect(isUnderWay()).to.equal(false)
  })

  it('are at most 10 in a browser: the oldest gives way', async () => {
    const transactions = createTransactions(secret, () => now)
    const jar = new Jar()
    const begun = []
    for (let i = 0; i < 12; i += 1) {
      now += 1
      begun.push((await begin(jar, transactions)).transaction)
    }
    expect(jar.cookies.size).to.equal(10)
    const found = []
    for (const { state } of begun) found.push(transactions.take(state, rules, jar.header).transaction !== undefined)
    expect(found).to.deep.equal([false, false, ...Array(10).fill(true)])
  })

  it('survive a restart of a host that has a secret', async () => {
    const jar = new Jar()
    const { transaction } = await begin(jar)
    const restarted = createTransactions(secret, () => now)
    expect(restarted.take(transaction.state, rules, jar.header).transaction?.nonce).to.equal(transaction.nonce)
  })

  it('travel in cookies that scripts, other sites and neighbouring hosts cannot touch', async () => {
    const { setCookies, transaction } = await begin(new Jar())
    expect(setCookies).to.have.length(1)
    expect(setCookies[0]).to.match(/^__Host-oidc-login\.[\w.-]+=/)
    for (const attribute of ['HttpOnly', 'Secure', 'SameSite=Lax', 'Path=/', 'Max-Age=600']) {
      expect(setCookies[0]).to.include(attribute)
    }
    expect(setCookies[0]).to.not.include('Domain=')
    for (const part of [transaction.nonce, transaction.codeVerifier, transaction.state])
      expect(setCookies[0]).to.not.include(part)
  })

  it('come along with a form that the IdP posts, when the answer comes so', async () => {
    const { setCookies } = await begin(new Jar(), undefined, { secure: true, crossSitePost: true })
    expect(setCookies[0]).to.include('SameSite=None').and.to.include('Secure')
  })

  it('leave a proxy its 8 KB of a header line, and its 4 KB of an answer, however many tabs there are and wherever they lead', () => {
    const logins = fc.array(
      fc.record({ length: fc.integer({ min: 0, max: 511 }), room: fc.integer({ min: 500, max: 2_048 }) }),
      {
        minLength: 1,
        maxLength: 24,
      },
    )
    const property = fc.property(logins, (all) => {
      const jar = new Jar()
      const transactions = createTransactions(secret, () => now)
      for (const { length, room } of all) {
        now += 1
        const begun = transactions.begin(
          { domainKey: 'customers', returnPath: `/${'a'.repeat(length)}` },
          rules,
          jar.header,
        )
        const setCookies = begun.setCookies(room)
        jar.apply(setCookies)
        const taken = transactions.take(begun.transaction.state, rules, jar.header).transaction
        const isRemembered = taken?.returnPath === begun.transaction.returnPath
        expect(taken).to.deep.equal({ ...begun.transaction, ...(isRemembered ? {} : { returnPath: null }) })
        // Without the path it takes 360 bytes, and each of the old that make room for it 110.
        expect(setCookies.join('').length).to.be.at.most(Math.max(room, 360 + 110 * (setCookies.length - 1)))
        expect(jar.header.length).to.be.below(4_600)
        expect(jar.cookies.size).to.be.at.most(10)
      }
    })
    fc.assert(property, { numRuns: propertyRuns(30) })
  })
})
