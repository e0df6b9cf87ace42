import { expect } from 'chai'
import type { Request } from 'express'
import fc from 'fast-check'
import { LOGIN_ERRORS, type LoginErrorCode, MESSAGES } from '../../../plugin/errors.ts'
import { keyOfHandle, keysOfEnded } from '../../../plugin/host/revocations.ts'
import { admitsAddress, isListed, loginKeyOf } from '../../../plugin/meshcentral/pages/gate.ts'
import { goOn, MESSAGE, messageOf, withLoginKey } from '../../../plugin/meshcentral/pages/login-page.ts'
import type { MeshDomain, MeshRequest, MeshSocket } from '../../../plugin/meshcentral/server.ts'
import { createOpenSessions, keysOfOpen } from '../../../plugin/meshcentral/sessions/open-sessions.ts'
import { keyOfSealed } from '../../../plugin/meshcentral/sessions/owner.ts'
import { pluginConfig, showButton, takeOver } from '../../../plugin/meshcentral/take-over.ts'

const domain = (members: Partial<MeshDomain> = {}): MeshDomain => ({ id: '', url: '/', ...members })

describe('address lists of MeshCentral', () => {
  const octet = fc.integer({ min: 0, max: 255 })
  const address = fc.tuple(octet, octet, octet, octet)
  const bitsOf = (octets: readonly number[]) => octets.map((one) => one.toString(2).padStart(8, '0')).join('')

  it('hold the addresses whose first bits are those of a range', () => {
    fc.assert(
      fc.property(address, address, fc.integer({ min: 0, max: 32 }), (asked, base, bits) => {
        const same = bitsOf(asked).slice(0, bits) === bitsOf(base).slice(0, bits)
        expect(isListed(asked.join('.'), [`${base.join('.')}/${bits}`])).to.equal(same)
      }),
    )
  })

  it('hold single addresses, IPv6 ranges, and IPv4 addresses in their IPv6 form', () => {
    expect(isListed('10.1.2.3', ['10.1.2.3'])).to.equal(true)
    expect(isListed('10.1.2.4', ['10.1.2.3'])).to.equal(false)
    expect(isListed('2001:db8::1', ['2001:db8::/32'])).to.equal(true)
    expect(isListed('2001:db9::1', ['2001:db8::/32'])).to.equal(false)
    expect(isListed('::ffff:10.1.2.3', ['10.1.0.0/16'])).to.equal(true)
    expect(isListed('fe80::1%e-0:1', ['fe80::/10'])).to.equal(true)
  })

  it('hold nothing by an entry or an address that cannot be read', () => {
    for (const entry of ['', 'x', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/-1', '10/8', '127.1', '1.2.3.4/8/8', 7, null]) {
      expect(isListed('10.0.0.1', [entry]), String(entry)).to.equal(false)
    }
    expect(isListed('nonsense', ['0.0.0.0/0', '::/0'])).to.equal(false)
  })

  it('refuse who is blocked, and who is not allowed where a list says who is', () => {
    expect(admitsAddress({}, '10.0.0.1')).to.equal(true)
    expect(admitsAddress({ userblockedip: ['10.0.0.0/8'] }, '10.0.0.1')).to.equal(false)
    expect(admitsAddress({ userblockedip: ['10.0.0.0/8'] }, '11.0.0.1')).to.equal(true)
    expect(admitsAddress({ userallowedip: ['10.0.0.0/8'] }, '11.0.0.1')).to.equal(false)
    expect(admitsAddress({ userallowedip: ['10.0.0.0/8'], userblockedip: ['10.0.0.1'] }, '10.0.0.1')).to.equal(false)
    expect(admitsAddress({ userallowedip: [] }, '10.0.0.1')).to.equal(false)
    expect(admitsAddress({ userallowedip: ['0.0.0.0/0'] }, undefined)).to.equal(false)
  })
})

describe('the login key of a domain', () => {
  it('is asked for where the domain has any, and then has to be one of them', () => {
    expect(loginKeyOf(domain(), 'any')).to.equal(undefined)
    const keyed = domain({ loginkey: ['one', 'two'] })
    expect(loginKeyOf(keyed, 'two')).to.equal('two')
    for (const given of [undefined, '', 'three', ['one'], 'one,two']) expect(loginKeyOf(keyed, given)).to.equal(null)
  })

  it('goes on with the browser that had it, and a wrong one does not', () => {
    const request = (cookie: string) =>
      ({ headers: { cookie }, xdomain: domain({ loginkey: ['k 1'] }) }) as unknown as MeshRequest
    expect(withLoginKey('/login?a=b#c', request('__Host-oidc-key=k%201'))).to.equal('/login?a=b&key=k+1#c')
    expect(withLoginKey('/login', request('__Host-oidc-key=other'))).to.equal('/login')
    expect(withLoginKey('/login', request(''))).to.equal('/login')
  })
})

describe('the way on after a login', () => {
  const answerTo = (path: string, isStrict: boolean) => {
    const sent: { status?: number; location?: string; body?: string } = {}
    const res = {
      redirect: (status: number, location: string) => Object.assign(sent, { status, location }),
      status: (status: number) => Object.assign(sent, { status }) && res,
      set: () => res,
      type: () => res,
      send: (body: string) => Object.assign(sent, { body }),
    }
    goOn(res as unknown as NonNullable<Request['res']>, path, isStrict)
    return sent
  }

  it('is a redirect, but a page where session cookies are strict', () => {
    expect(answerTo('/a?b', false)).to.deep.equal({ status: 302, location: '/a?b' })
    expect(answerTo('/a?b', true)).to.include({ status: 200 })
  })

  it('cannot break out of that page', () => {
    const { body = '' } = answerTo('/?a="><script>1</script>\'&b', true)
    expect(body).not.to.match(/<script|a="|'&b/)
  })

  it('leads to a message of MeshCentral for every failure, an unknown one too', () => {
    const numberOf = (reason: LoginErrorCode) => messageOf({ reason, code: LOGIN_ERRORS[reason].message })
    expect(numberOf('account_unknown')).to.equal(MESSAGE.cannotCreate)
    expect(numberOf('account_limit')).to.equal(MESSAGE.accountLimit)
    expect(numberOf('not_in_required_group')).to.equal(MESSAGE.denied)
    expect(numberOf('account_locked')).to.equal(MESSAGE.locked)
    expect(numberOf('discovery_failed')).to.equal(MESSAGE.failed)
    expect(messageOf({ reason: 'constructor', code: 'constructor' })).to.equal(MESSAGE.failed)
  })

  it('has a message of MeshCentral for everything that a person may read', () => {
    for (const code of Object.keys(MESSAGES)) {
      expect(Object.values<number>(MESSAGE), code).to.include(messageOf({ reason: 'new', code }))
    }
    expect(messageOf({ reason: 'new', code: 'sign_in_cancelled' })).to.equal(MESSAGE.denied)
    expect(messageOf({ reason: 'new', code: 'maintenance' })).to.equal(MESSAGE.maintenance)
  })
})

describe('taking over', () => {
  const oidc = { clientid: 'mesh', newaccountsrights: ['fulladministrator'] }
  const domains = () => ({
    '': domain({ authstrategies: { oidc, saml: {} } }),
    sub: domain({ id: 'sub', url: '/sub/', authstrategies: { saml: {} } }),
    files: domain({ id: 'files', share: '/srv', authstrategies: { oidc } }),
    own: domain({ id: 'own', dns: 'own.example.test', title: 'Own', authstrategies: { oidc } }),
  })

  it('leaves MeshCentral no strategy of that kind, and all others', () => {
    const all = domains()
    expect([...takeOver(all).keys()]).to.deep.equal(['', 'own'])
    expect(all[''].authstrategies).to.deep.equal({ saml: {} })
    expect(all.sub.authstrategies).to.deep.equal({ saml: {} })
  })

  it('reads the configuration with the address that the server has, without what is of the server', () => {
    const config = pluginConfig(takeOver(domains()), { hostName: 'mesh.example.test', port: 8443 })
    expect(config).to.deep.equal({
      settings: { cert: 'mesh.example.test', port: 8443 },
      domains: {
        '': { authStrategies: { oidc: { clientid: 'mesh' } } },
        own: { dns: 'own.example.test', title: 'Own', authStrategies: { oidc: { clientid: 'mesh' } } },
      },
    })
  })

  it('puts back what the button is to show, in the lower case that pages look for', () => {
    const all = domains()
    const button = { buttonText: 'Corp', buttonIconUrl: '/corp.png' }
    for (const one of takeOver(all).values()) showButton(one, null, false, button)
    expect(all[''].authstrategies).to.deep.equal({
      saml: {},
      oidc: { issuer: {}, client: {}, custom: { buttontext: 'Corp', buttoniconurl: '/corp.png' } },
    })
  })

  it('puts back what pages look for, and no secret', () => {
    const all = domains()
    for (const one of takeOver(all).values()) showButton(one, 'azure', true)
    expect(all[''].authstrategies).to.deep.equal({
      saml: {},
      oidc: { issuer: {}, client: {}, custom: { preset: 'azure' }, groups: { sync: true } },
    })
  })
})

describe('open sessions', () => {
  const signIn = (handle: string) =>
    ({
      domainKey: '',
      userId: '~oidc:1',
      issuer: 'https://idp',
      subject: '1',
      sid: handle,
      startedAt: 1,
      handle,
    }) as const
  const session = (handle: string) => ({ signIn: signIn(handle), user: 'user//~oidc:1', x: handle })
  const socket = () => {
    const listeners: (() => void)[] = []
    const one = {
      closed: false,
      on: (_event: 'close', listener: () => void) => listeners.push(listener),
      emit: () => true,
      close: () => {
        one.closed = true
        for (const listener of listeners) listener()
      },
    }
    return one satisfies MeshSocket
  }

  const owner = (handle: string) =>
    ({ kind: 'session', keys: keysOfOpen(signIn(handle)), startedAt: signIn(handle).startedAt }) as const
  const isClosed = ({ closed }: { readonly closed: boolean }) => closed

  it('close their own sockets when they end, and those that came with what was sealed for them', () => {
    const open = createOpenSessions(() => 10)
    const user = 'user//~oidc:1'
    const [own, sealed, other, sealedForOther, unknown, none] = [
      socket(),
      socket(),
      socket(),
      socket(),
      socket(),
      socket(),
    ]
    open.seen(session('a'), own)
    open.seenSealed(owner('a'), user, sealed)
    open.seen(session('b'), other)
    open.seenSealed(owner('b'), user, sealedForOther)
    open.seenSealed({ kind: 'unknown', sealedAt: 1 }, user, unknown)
    open.seenSealed({ kind: 'none' }, user, none)
    const all = [own, sealed, other, sealedForOther, unknown, none]
    open.end([keyOfHandle('a')])
    expect(all.map(isClosed)).to.deep.equal([true, true, false, false, false, false])
    expect(open.usersIn().has(user)).to.equal(true)
    open.end(keysOfEnded({ domainKey: '', issuer: 'https://idp', subject: '1', sid: null }))
    expect(all.map(isClosed)).to.deep.equal([true, true, true, true, false, false])
    expect(open.usersIn().has(user)).to.equal(false)
    open.end([keyOfSealed('user//~oidc:2')])
    expect(isClosed(unknown)).to.equal(false)
    open.end([keyOfSealed(user)])
    expect([unknown, none].map(isClosed)).to.deep.equal([true, false])
  })

  it('are in use while they have a socket, also one of what was sealed for them, or were seen since they were taken', () => {
    let now = 10
    const open = createOpenSessions(() => now, 10)
    const [own, sealed] = [socket(), socket()]
    const inUse = (before: number) => open.inUse('', before).map(({ signIn: { handle } }) => handle)
    open.seen(session('a'), own)
    open.seen(session('b'))
    open.seenSealed(owner('b'), 'user//~oidc:1', sealed)
    open.seen(session('c'))
    const { startedAt } = signIn('a')
    expect(inUse(startedAt - 1)).to.deep.equal([])
    expect(inUse(startedAt)).to.deep.equal(['a', 'b', 'c'])
    for (const handle of ['a', 'b', 'c', 'unknown']) open.taken(session(handle), now, true)
    expect(inUse(9)).to.deep.equal([])
    expect(inUse(10)).to.deep.equal(['a', 'b'])
    own.close()
    sealed.close()
    expect(inUse(10)).to.deep.equal([])
    now = 11
    open.seen(session('c'))
    expect(inUse(10)).to.deep.equal(['c'])
  })

  it('are in use, each of them, while there is a tunnel that may be that of any', () => {
    const open = createOpenSessions(() => 10, 10)
    for (const handle of ['a', 'b', 'c']) {
      open.seen(session(handle))
      open.taken(session(handle), 10, true)
    }
    const keys = ['a', 'b'].flatMap((handle) => owner(handle).keys)
    open.seenSealed({ ...owner('a'), keys }, 'user//~oidc:1', socket())
    expect(open.inUse('', 10).map(({ signIn: { handle } }) => handle)).to.deep.equal(['a', 'b'])
  })

  it('are in use in the order in which they were taken, and those come last about which nobody could tell', () => {
    let now = 10
    const open = createOpenSessions(() => now, 10)
    const inUse = () => open.inUse('', now).map(({ signIn: { handle } }) => handle)
    for (const handle of ['a', 'b', 'c', 'd']) open.seen(session(handle), socket())
    open.taken(session('a'), 12, true)
    open.taken(session('b'), 11, false)
    open.taken(session('c'), 11, true)
    now = 13
    expect(inUse()).to.deep.equal(['d', 'c', 'a', 'b'])
    open.taken(session('b'), 12, true)
    open.taken(session('d'), 9, false)
    expect(inUse()).to.deep.equal(['c', 'a', 'b', 'd'])
  })

  it('are in use, and come first, where the clock was set back since they were taken: nobody knows whether they were seen', () => {
    let now = 100
    const open = createOpenSessions(() => now, 10)
    for (const handle of ['a', 'b']) open.seen(session(handle))
    open.taken(session('a'), 100, true)
    now = 50
    open.taken(session('b'), 40, true)
    open.seen(session('b'))
    expect(open.inUse('', 45).map(({ x }) => x)).to.deep.equal(['a', 'b'])
    open.taken(session('a'), 50, true)
    now = 60
    expect(open.inUse('', 55).map(({ x }) => x)).to.deep.equal(['b'])
  })

  it("are found by MeshCentral's own name for them", () => {
    const open = createOpenSessions(() => 10)
    open.seen(session('a'))
    expect(open.named('user//~oidc:1', 'a')).to.deep.equal(session('a'))
    expect(open.named('user//~oidc:1', 'b')).to.equal(undefined)
    expect(open.named('user//~oidc:2', 'a')).to.equal(undefined)
  })

  it('are found by what an IdP says has ended', () => {
    const open = createOpenSessions(() => 10)
    open.seen(session('a'))
    open.seen(session('b'))
    const ended = { domainKey: '', issuer: 'https://idp', subject: null }
    expect(open.find(keysOfEnded({ ...ended, sid: 'b' }))).to.deep.equal([session('b')])
    expect(open.find(keysOfEnded({ ...ended, sid: null, subject: '1' }))).to.deep.equal([session('a'), session('b')])
    expect(open.find(keysOfEnded({ ...ended, issuer: 'https://other', sid: 'b' }))).to.deep.equal([])
  })

  it('are forgotten when there are too many, the longest idle first, but none that has a socket', () => {
    const open = createOpenSessions(() => 10, 2)
    open.seen(session('a'), socket())
    for (const handle of ['b', 'c', 'b', 'd']) open.seen(session(handle))
    const known = open.find(keysOfEnded({ domainKey: '', issuer: 'https://idp', subject: '1', sid: null }))
    expect(known.map(({ x }) => x)).to.deep.equal(['a', 'd'])
  })
})
