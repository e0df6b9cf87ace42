import { expect } from 'chai'
import fc from 'fast-check'
import { readCookies } from '../../../plugin/login/transaction/login-cookie.ts'
import { createTransactions, TRANSACTION_MS, type Transactions } from '../../../plugin/login/transaction/transaction.ts'
import { propertyRuns } from '../../support/property-runs.ts'

const secret = 'a secret of the host, long enough for it'
const rules = { secure: true, crossSitePost: false }
const login = { domainKey: '', returnPath: '/devices' }

/** The cookies of one browser: applies `Set-Cookie` values and returns a `Cookie` header. */
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

describe('pending logins', () => {
  let now = 1_700_000_000_000
  let jar: Jar
  let transactions: Transactions
  beforeEach(() => {
    jar = new Jar()
    transactions = createTransactions(secret, () => now)
  })
  const begin = (over = rules) => {
    const { transaction, setCookies: setCookiesFor } = transactions.begin(login, over, readCookies(jar.header))
    const setCookies = setCookiesFor(2_048)
    jar.apply(setCookies)
    return { transaction, setCookies, ...transaction }
  }
  const take = (state: string, header: string | undefined = jar.header, source = transactions) =>
    source.take(state, rules, readCookies(header)).transaction

  it('all data of a pending login can be read with its state, even after a restart', () => {
    const { transaction, state } = begin()
    const restarted = createTransactions(secret, () => now)
    expect(take(state, jar.header, restarted)).to.deep.equal({ ...transaction, domainKey: '', returnPath: '/devices' })
  })

  it('each pending login has a new state, nonce and code verifier', () => {
    const values = [begin(), begin()].flatMap(({ state, nonce, codeVerifier }) => [state, nonce, codeVerifier])
    expect(new Set(values).size).to.equal(6)
    for (const value of values) expect(value).to.match(/^[\w-]{43}$/)
  })

  it('a pending login can be used once, even if the browser keeps its cookie', () => {
    const { state } = begin()
    expect(take(state)).to.not.equal(undefined)
    const repeated = transactions.take(state, rules, readCookies(jar.header))
    expect(repeated.transaction).to.equal(undefined)
    jar.apply(repeated.setCookies)
    expect(jar.cookies.size).to.equal(0)
  })

  it('a pending login is not found without its cookie or with another state', () => {
    const { state } = begin()
    expect(transactions.take(state, rules, readCookies(undefined))).to.deep.equal({
      transaction: undefined,
      setCookies: [],
    })
    expect(take(`${state}x`)).to.equal(undefined)
  })

  it('a pending login is not found if its cookie was changed or sealed by another host', () => {
    const [first, second] = [begin(), begin()]
    const [[firstName, firstValue], [secondName]] = [...jar.cookies] as [[string, string], [string, string]]
    expect(take(second.state, `${secondName}=${firstValue}`)).to.equal(undefined)
    expect(take(first.state, `${firstName}=${firstValue.slice(0, -2)}AA`)).to.equal(undefined)
    const elsewhere = createTransactions('the secret of quite another host', () => now)
    expect(take(first.state, jar.header, elsewhere)).to.equal(undefined)
  })

  it('a pending login expires after 10 minutes', () => {
    const old = begin()
    now += 1
    const young = begin()
    now += TRANSACTION_MS
    expect(take(old.state)).to.equal(undefined)
    expect(take(young.state)?.state).to.equal(young.state)
  })

  it('the last 10,000 finished logins are remembered, so that none is used twice', () => {
    const all = Array.from({ length: 10_001 }, () => {
      jar = new Jar()
      const { state } = begin()
      return { state, header: jar.header }
    })
    const isTaken = (index: number) => take(all[index]!.state, all[index]!.header) !== undefined
    for (let index = 0; index < 10_000; index += 1) expect(isTaken(index)).to.equal(true)
    expect([0, 1].map(isTaken)).to.deep.equal([false, false])
    expect([10_000, 0, 2].map(isTaken)).to.deep.equal([true, true, false])
  })

  it('a login is pending only in its own browser and domain, and until it expires', () => {
    begin()
    const { state } = begin()
    const isUnderWay = (domainKey = '') => transactions.isUnderWay(domainKey, rules, readCookies(jar.header))
    expect(isUnderWay()).to.equal(true)
    expect(isUnderWay('other')).to.equal(false)
    expect(transactions.isUnderWay('', rules, readCookies(`${jar.header}x; a=b`))).to.equal(true)
    expect(transactions.isUnderWay('', rules, readCookies(undefined))).to.equal(false)
    jar.apply(transactions.take(state, rules, readCookies(jar.header)).setCookies)
    expect(isUnderWay()).to.equal(true)
    now += TRANSACTION_MS + 1
    expect(isUnderWay()).to.equal(false)
  })

  it('a browser has at most 10 pending logins; a new one replaces the oldest', () => {
    const started = Array.from({ length: 12 }, () => {
      now += 1
      return begin()
    })
    expect(jar.cookies.size).to.equal(10)
    expect(started.map(({ state }) => take(state) !== undefined)).to.deep.equal([false, false, ...Array(10).fill(true)])
  })

  it('a new login removes only the oldest login cookies, in any order of the header', () => {
    const foreign = Array.from({ length: 50 }, (_, i) => `other-${i}=${'x'.repeat(100)}`)
    const logins = Array.from({ length: 10 }, () => {
      now += 1000
      return transactions.begin(login, rules, {}).setCookies(2_048)[0]?.split(';')[0] ?? ''
    })
    const header = [...foreign, ...logins.toReversed()].join('; ')
    const [removed = '', ...others] = transactions.begin(login, rules, readCookies(header)).setCookies(2_048)
    expect(others).to.have.length(1)
    expect(removed.split('=')[0]).to.equal(logins[0]?.split('=')[0])
    expect(removed).to.match(/Max-Age=0/)
  })

  it('a login cookie without room for the return path leaves only the path out', () => {
    const { setCookies } = transactions.begin(login, rules, {})
    const { length } = setCookies(2_048).join('')
    expect(setCookies(length).join('')).to.have.length(length)
    const shortened = setCookies(length - 1)
    expect(shortened.join('').length).to.be.below(length)
    const { transaction, setCookies: second } = transactions.begin(login, rules, {})
    jar.apply(second(1))
    expect(take(transaction.state)?.returnPath).to.equal(null)
  })

  it('a pending login is not found if the clock is before its start', () => {
    const { state } = begin()
    now -= 1
    expect(take(state)).to.equal(undefined)
  })

  it('the cookie of a login is hidden from scripts, other sites and neighboring hosts', () => {
    const { setCookies, transaction } = begin()
    expect(setCookies).to.have.length(1)
    expect(setCookies[0]).to.match(/^__Host-oidc-login\.[\w.-]+=/)
    for (const attribute of ['HttpOnly', 'Secure', 'SameSite=Lax', 'Path=/', 'Max-Age=600']) {
      expect(setCookies[0]).to.include(attribute)
    }
    expect(setCookies[0]).to.not.include('Domain=')
    for (const part of [transaction.nonce, transaction.codeVerifier, transaction.state])
      expect(setCookies[0]).to.not.include(part)
    // A form that the IdP posts comes from another site.
    expect(begin({ secure: true, crossSitePost: true }).setCookies[0]).to.match(
      /SameSite=None.*Secure|Secure.*SameSite=None/,
    )
  })

  // Shows: plugin 4.36.
  it('login cookies of many tabs stay below 8 KB in requests and 4 KB in answers', () => {
    const length = fc.integer({ min: 0, max: 511 })
    const login = fc.record({ length, room: fc.integer({ min: 500, max: 2_048 }) })
    const logins = fc.array(login, { minLength: 1, maxLength: 24 })
    const property = fc.property(logins, (all) => {
      const jar = new Jar()
      for (const { length, room } of all) {
        now += 1
        const returnPath = `/${'a'.repeat(length)}`
        const started = transactions.begin({ domainKey: 'customers', returnPath }, rules, readCookies(jar.header))
        const setCookies = started.setCookies(room)
        jar.apply(setCookies)
        const transaction = transactions.take(started.transaction.state, rules, readCookies(jar.header)).transaction
        const isRemembered = transaction?.returnPath === started.transaction.returnPath
        expect(transaction).to.deep.equal({ ...started.transaction, ...(isRemembered ? {} : { returnPath: null }) })
        // Without the path, the cookie takes 360 bytes, and each deletion of an older one 110.
        expect(setCookies.join('').length).to.be.at.most(Math.max(room, 360 + 110 * (setCookies.length - 1)))
        expect(jar.header.length).to.be.below(4_600)
        expect(jar.cookies.size).to.be.at.most(10)
      }
    })
    fc.assert(property, { numRuns: propertyRuns(30) })
  })
})
