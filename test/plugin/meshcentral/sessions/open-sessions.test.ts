import { expect } from 'chai'
import { keyOfHandle, keysOfEnded } from '../../../../plugin/host/revocations.ts'
import type { MeshSocket } from '../../../../plugin/meshcentral/server.ts'
import { createOpenSessions, keysOfOpen } from '../../../../plugin/meshcentral/sessions/open-sessions.ts'
import { keyOfSealed } from '../../../../plugin/meshcentral/sessions/owner.ts'

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
    for (const handle of ['a', 'b', 'c', 'unknown']) open.taken(session(handle))
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
      open.taken(session(handle))
    }
    const keys = ['a', 'b'].flatMap((handle) => owner(handle).keys)
    open.seenSealed({ ...owner('a'), keys }, 'user//~oidc:1', socket())
    expect(open.inUse('', 10).map(({ signIn: { handle } }) => handle)).to.deep.equal(['a', 'b'])
  })

  it('are in use in the order in which they were taken', () => {
    let now = 10
    const open = createOpenSessions(() => now, 10)
    const inUse = () => open.inUse('', now).map(({ signIn: { handle } }) => handle)
    for (const handle of ['a', 'b', 'c']) open.seen(session(handle), socket())
    for (const handle of ['b', 'a']) {
      now += 1
      open.taken(session(handle))
    }
    expect(inUse()).to.deep.equal(['c', 'b', 'a'])
  })

  it('are in use, and come first, where the clock was set back since they were taken: nobody knows whether they were seen', () => {
    let now = 100
    const open = createOpenSessions(() => now, 10)
    for (const handle of ['a', 'b']) open.seen(session(handle))
    open.taken(session('a'))
    now = 50
    open.taken(session('b'))
    open.seen(session('b'))
    expect(open.inUse('', 50).map(({ x }) => x)).to.deep.equal(['a'])
    open.taken(session('a'))
    now = 60
    open.seen(session('b'))
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
