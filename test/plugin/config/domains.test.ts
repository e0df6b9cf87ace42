import { expect } from 'chai'
import { domainsByHostName } from '../../../plugin/config/domains/host-names.ts'
import { isSameRoute } from '../../../plugin/config/domains/route-names.ts'
import { type ReadOptions, readDomains } from '../../../plugin/mount/read-domains.ts'
import { CLIENT, MINIMAL, readOne, settingsOf } from './single-domain.ts'

const oidc = { authStrategies: { oidc: MINIMAL } }
const read = (domains: object, settings: object = { cert: 'mesh.example.com' }, options: ReadOptions = {}) =>
  readDomains({ settings, domains }, options).domains
const paths = (...args: Parameters<typeof read>) =>
  read(...args).map(({ key, problems }) => [key, ...problems.map(({ path }) => path)])

describe('domains of a configuration', () => {
  it('reads key, title and address of every domain that has an oidc strategy', () => {
    const domains = read({
      '': { title: 'Main', ...oidc },
      none: { dns: 'none.example.com', authStrategies: { saml: {} } },
      Customer1: { dns: 'One.Example.com', ...oidc },
      '2': { dns: 'two.example.com', title: 5, ...oidc },
    })
    expect(domains.map(({ key, title, settings }) => [key, title, settings?.hostName, settings?.origin])).to.deep.equal(
      [
        ['2', null, 'two.example.com', 'https://two.example.com'],
        ['', 'Main', 'mesh.example.com', 'https://mesh.example.com'],
        ['Customer1', null, 'one.example.com', 'https://one.example.com'],
      ],
    )
    expect(domains.map(({ settings }) => settings?.key)).to.deep.equal(['2', '', 'Customer1'])
  })

  // Shows: plugin 1.1.
  it('requires settings.cert for the default domain and dns for the others', () => {
    expect(paths({ '': oidc, a: oidc }, {})).to.deep.equal([
      ['', 'settings.cert'],
      ['a', 'domains.a.dns'],
    ])
    expect(paths({ a: { dns: 'a.example.com', ...oidc } }, {})).to.deep.equal([['a']])
    expect(paths({ '': { dns: 'other.example.com', ...oidc } }, {})).to.deep.equal([['', 'settings.cert']])
  })

  it('tells a missing host name from a wrong one', () => {
    const reasons = (...args: Parameters<typeof read>) => read(...args).map(({ problems }) => problems[0]?.reason)
    expect(reasons({ '': oidc, a: oidc }, {})).to.deep.equal(['is missing', 'is missing'])
    expect(reasons({ '': oidc, a: { dns: null, ...oidc } }, { cert: 5 })).to.deep.equal(
      Array(2).fill('must be a host name'),
    )
  })

  it('derives the address from redirect_uri only if a needed settings.cert is missing', () => {
    const withRedirect = (redirect_uri: unknown) => ({
      authStrategies: { oidc: { ...MINIMAL, client: { ...CLIENT, redirect_uri } } },
    })
    const elsewhere = withRedirect('https://proxy.example.com:8443/auth-oidc-callback')
    expect(read({ '': elsewhere }, {})[0]?.settings?.origin).to.equal('https://proxy.example.com:8443')
    expect(read({ '': elsewhere })[0]?.settings?.origin).to.equal('https://mesh.example.com')
    expect(paths({ '': elsewhere }, { cert: 'a b' })).to.deep.equal([['', 'settings.cert']])
    expect(paths({ a: elsewhere }, {})).to.deep.equal([['a', 'domains.a.dns']])
    for (const wrong of ['mesh', 'urn:mesh', 5, ['https://proxy.example.com/']])
      expect(paths({ '': withRedirect(wrong) }, {})[0], String(wrong)).to.include('settings.cert')
  })

  it('refuses a dns setting that is not exactly a host name', () => {
    const wrong = [
      'https://a.example.com',
      'a.example.com:8443',
      'a/b',
      'u@a',
      '*.example.com',
      '',
      'a b',
      '[::1]',
      '1.2.3.400',
    ]
    for (const dns of [...wrong, 5, null, []])
      expect(paths({ a: { dns, ...oidc } }), String(dns)).to.deep.equal([['a', 'domains.a.dns']])
  })

  it('converts non-ASCII dns names to the form that browsers send', () => {
    expect(read({ a: { dns: 'Müller.example', ...oidc } })[0]?.settings?.hostName).to.equal('xn--mller-kva.example')
  })

  it('derives default addresses from the public port, and omits port 443', () => {
    for (const [settings, origin] of [
      [{}, 'https://mesh.example.com'],
      [{ port: 443 }, 'https://mesh.example.com'],
      [{ port: 8443 }, 'https://mesh.example.com:8443'],
      [{ port: 4430, aliasPort: 443 }, 'https://mesh.example.com'],
      [{ port: 4430, aliasport: 9443 }, 'https://mesh.example.com:9443'],
      [{ port: 0, aliasPort: 9443 }, 'https://mesh.example.com:9443'],
    ] as const) {
      const finished = settingsOf(MINIMAL, {}, { cert: 'mesh.example.com', ...settings })
      expect(finished.origin).to.equal(origin)
      expect(finished.client.redirect_uri).to.equal(`${origin}/auth-oidc-callback`)
      expect(finished.client.post_logout_redirect_uri).to.equal(`${origin}/login`)
    }
    for (const port of [1, 65_535])
      expect(read({ '': oidc }, { cert: 'a.example', aliasPort: null, port })[0]?.settings?.origin).to.equal(
        `https://a.example:${port}`,
      )
    for (const port of [0, -1, 65536, 1.5, '443', true]) {
      expect(paths({ '': oidc }, { cert: 'a.example', port })).to.deep.equal([['', 'settings.port']])
      expect(paths({ '': oidc }, { cert: 'a.example', aliasPort: port })).to.deep.equal([['', 'settings.aliasPort']])
    }
  })

  it("a domain with a base path has the server's host name and URLs below the path", () => {
    const basePathOf = (key: string) => (key === '' ? '/' : `/${key}/`)
    const [, below, separate] = read(
      { '': oidc, sub: oidc, separate: { dns: 'own.example.com', ...oidc } },
      undefined,
      {
        basePathOf,
      },
    )
    expect(below?.settings).to.include({ hostName: 'mesh.example.com', origin: 'https://mesh.example.com' })
    expect(below?.settings?.client).to.include({
      redirect_uri: 'https://mesh.example.com/sub/auth-oidc-callback',
      post_logout_redirect_uri: 'https://mesh.example.com/sub/login',
    })
    expect(separate?.settings?.hostName).to.equal('own.example.com')
  })

  it('derives redirect_uri from the origin if the host application provides an origin', () => {
    const read = (origin: string) => readOne(MINIMAL, { originOf: () => origin }, { cert: 'mesh.example.com', port: 0 })
    const { settings } = read('http://127.0.0.1:4321//')
    expect(settings?.origin).to.equal('http://127.0.0.1:4321')
    expect(settings?.client.redirect_uri).to.equal('http://127.0.0.1:4321/auth-oidc-callback')
    expect(read('http://mesh.lan').problems.map(({ path }) => path)).to.deep.equal([
      'domains[""].authStrategies.oidc.client.redirect_uri',
    ])
  })

  it('maps each dns name to its domain, even in a configuration with errors', () => {
    const domains = { '': { dns: 'mesh.lan' }, a: { DNS: 'A.lan' }, b: { dns: 'b c', ...oidc }, c: { ...oidc }, d: 5 }
    expect([...domainsByHostName({ Domains: domains })]).to.deep.equal([['a.lan', 'a']])
    for (const none of [5, {}, { domains: 5 }]) expect(domainsByHostName(none).size).to.equal(0)
  })

  it('matches route paths in any letter case, with or without trailing slashes', () => {
    for (const path of ['/a/logout', '/A/LogOut', '/a/logout//']) expect(isSameRoute(path, '/a/logout')).to.equal(true)
    for (const path of ['//a/logout', '/a/logou', '', '/']) expect(isSameRoute(path, '/a/logout'), path).to.equal(false)
  })

  it('refuses a host name that an earlier domain already uses', () => {
    const a = { dns: 'A.example.com', ...oidc }
    expect(
      paths({ '': oidc, a, b: { ...a, dns: 'a.example.com' }, c: { ...a, dns: 'mesh.example.com' } }),
    ).to.deep.equal([[''], ['a'], ['b', 'domains.b.dns'], ['c', 'domains.c.dns']])
  })
})

describe('top-level structure of a configuration', () => {
  const problems = (config: unknown) => readDomains(config).problems.map(({ path }) => path)

  it('refuses a configuration that is no object or has no domains', () => {
    for (const wrong of [undefined, null, 5, 'text', [], () => 1]) expect(problems(wrong)).to.deep.equal(['$'])
    for (const wrong of [undefined, null, 5, []]) expect(problems({ domains: wrong })).to.deep.equal(['domains'])
    expect(readDomains({}).problems[0]?.reason).to.equal('is missing')
    expect(readDomains({ domains: 5 }).problems[0]?.reason).to.equal('must be an object')
    expect(problems({ domains: {}, Domains: {} })).to.deep.equal(['domains'])
    expect(problems({ domains: {}, settings: {}, SETTINGS: {} })).to.deep.equal(['settings'])
  })

  it('accepts a configuration in which no domain has a strategy', () => {
    for (const domain of [{}, null, { authStrategies: 5 }, { authStrategies: {} }])
      expect(readDomains({ domains: { '': domain } })).to.deep.equal({ domains: [], problems: [] })
    expect(readDomains({ domains: {} })).to.deep.equal({ domains: [], problems: [] })
  })

  it('refuses an oidc strategy that is not an object', () => {
    for (const wrong of [null, true, 'https://idp.example.com', []]) {
      const domains = { '': { authStrategies: { oidc: wrong } } }
      expect(paths(domains)).to.deep.equal([['', 'domains[""].authStrategies.oidc']])
    }
  })

  it('refuses a configuration that has the same setting in two letter cases', () => {
    const twice = {
      dns: 'a.example',
      DNS: 'b.example',
      authStrategies: { oidc: MINIMAL, OIDC: MINIMAL },
      title: 'A',
      Title: 'B',
    }
    expect(paths({ a: twice })).to.deep.equal([['a', 'domains.a.authStrategies.oidc', 'domains.a.dns']])
    expect(read({ a: twice })[0]?.settings).to.equal(null)
    const settings = { cert: 'a.example', CERT: 'a.example', port: 1, Port: 2, aliasPort: 3, aliasport: 4 }
    expect(paths({ '': oidc }, settings)).to.deep.equal([['', 'settings.cert', 'settings.aliasPort']])
    expect(paths({ '': oidc }, { cert: 'a.example', port: 1, Port: 2 })).to.deep.equal([['', 'settings.port']])
    expect(paths({ '': { authStrategies: { oidc: MINIMAL }, AuthStrategies: { oidc: MINIMAL } } })).to.deep.equal([
      ['', 'domains[""].authStrategies.oidc'],
    ])
  })

  it('reading a configuration returns deeply frozen settings', () => {
    const strategy = { ...MINIMAL, groups: { required: ['a'] } }
    const readings = read({ '': { authStrategies: { oidc: strategy } } })
    const notFrozen: unknown[] = []
    const visit = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      if (!Object.isFrozen(value)) notFrozen.push(value)
      for (const member of Object.values(value)) visit(member)
    }
    visit(readings)
    expect(notFrozen).to.deep.equal([])
  })

  it('reading a configuration does not change the object that it reads', () => {
    const groups = { sync: { enabled: true } }
    const strategy = { issuer: 'https://a.example', clientid: 'a', CLIENT: { ...CLIENT }, groups }
    const config = { settings: { cert: 'a.example' }, domains: { '': { authStrategies: { oidc: strategy } } } }
    const original = structuredClone(config)
    readDomains(config)
    expect(config).to.deep.equal(original)
    expect(Object.isFrozen(strategy.CLIENT)).to.equal(false)
  })
})
