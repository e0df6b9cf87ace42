import { expect } from 'chai'
import { WebRelays } from '../../../../plugin/meshcentral/sessions/web-relays.ts'

const USER = 'user//~oidc:1'
const owner = (key: string, startedAt = 1) => ({ kind: 'session', keys: [key], startedAt }) as const
const never = () => false
const always = () => true

describe('web relays', () => {
  it('are of nobody known where none was opened', () => {
    const relays = new WebRelays()
    expect(relays.ownerOf(USER, never)).to.equal(undefined)
    relays.opened('user//~oidc:2', owner('a'), 'x')
    expect(relays.ownerOf(USER, never)).to.equal(undefined)
    relays.opened(USER, { kind: 'none' }, 'x')
    relays.opened(USER, owner('a'), undefined)
    expect(relays.ownerOf(USER, never)).to.equal(undefined)
  })

  it('count once for a session that opens several, with all keys of all', () => {
    const relays = new WebRelays()
    relays.opened(USER, { kind: 'session', keys: ['a', 'both'], startedAt: 2 }, 'x of a')
    relays.opened(USER, { kind: 'session', keys: ['b', 'both'], startedAt: 3 }, 'x of b')
    relays.opened(USER, { kind: 'session', keys: ['a', 'both'], startedAt: 2 }, 'x of a')
    expect(relays.ownerOf(USER, never)).to.deep.equal({ kind: 'session', keys: ['b', 'both', 'a'], startedAt: 3 })
    expect(relays.sessionsWhere(({ keys }) => keys.includes('a'))).to.deep.equal([
      { user: USER, x: 'x of a', owner: { kind: 'session', keys: ['a', 'both'], startedAt: 2 } },
    ])
  })

  // Shows: plugin 6.11.
  it('end with the first of the login tokens that opened one', () => {
    const relays = new WebRelays()
    relays.opened(USER, owner('a'), 'x of a')
    for (const until of [8, 7]) relays.opened(USER, { ...owner('b'), until }, `x of ${until}`)
    expect(relays.ownerOf(USER, never)).to.include({ until: 7 })
  })

  it('are of those that are open, and of those that have ended once no other is', () => {
    const relays = new WebRelays()
    relays.opened(USER, owner('a'), 'x of a')
    relays.opened(USER, owner('b'), 'x of b')
    expect(relays.ownerOf(USER, (one) => one.kind === 'session' && one.keys.includes('a'))).to.deep.equal(owner('b'))
    expect(relays.ownerOf(USER, always)).to.deep.include({ keys: ['a', 'b'] })
    relays.opened(USER, { kind: 'none' }, undefined)
    expect(relays.ownerOf(USER, always)).to.equal(undefined)
  })

  it('of a person are told apart by the 20 sessions that opened one last', () => {
    const relays = new WebRelays()
    for (let at = 0; at < 21; at += 1) relays.opened(USER, owner(`key ${at}`), `x ${at}`)
    const now = relays.ownerOf(USER, never)
    expect(now?.kind === 'session' && now.keys).to.deep.equal(Array.from({ length: 20 }, (_, at) => `key ${at + 1}`))
    // Whose it is that was forgotten may still be open.
    expect(relays.ownerOf(USER, always)).to.equal(undefined)
  })

  it('are known of the persons who opened one last', () => {
    const relays = new WebRelays(2)
    for (const user of ['one', 'two', 'one', 'three']) relays.opened(user, owner(user), 'x')
    expect(relays.sessionsWhere(always).map(({ user }) => user)).to.deep.equal(['one', 'three'])
  })
})
