import { expect } from 'chai'
import { WebRelays } from '../../../../plugin/meshcentral/sessions/web-relays.ts'

const USER = 'user//~oidc:1'
const owner = (key: string, startedAt = 1) => ({ kind: 'session', keys: [key], startedAt }) as const
const never = () => false
const always = () => true

describe('owners of web relays', () => {
  it("a user's web relays have no owner until an identified session opens one", () => {
    const relays = new WebRelays()
    expect(relays.ownerOf(USER, never)).to.equal(undefined)
    relays.opened('user//~oidc:2', owner('a'), 'x')
    expect(relays.ownerOf(USER, never)).to.equal(undefined)
    relays.opened(USER, { kind: 'none' }, 'x')
    relays.opened(USER, owner('a'), undefined)
    expect(relays.ownerOf(USER, never)).to.equal(undefined)
  })

  it("a user's web relays belong to all of the user's sessions that opened a web relay", () => {
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
  it('a web relay opened with two login tokens expires when the first token expires', () => {
    const relays = new WebRelays()
    relays.opened(USER, owner('a'), 'x of a')
    for (const until of [8, 7]) relays.opened(USER, { ...owner('b'), until }, `x of ${until}`)
    expect(relays.ownerOf(USER, never)).to.include({ until: 7 })
  })

  it("a web relay keeps the oldest session's issuer, so it ends if that is replaced", () => {
    const from = (issuer: string) => ({ from: { domainKey: '', issuer } })
    const relays = new WebRelays()
    relays.opened(USER, { ...owner('new', 3), ...from('https://new.example') }, 'x of new')
    relays.opened(USER, { ...owner('old', 2), ...from('https://old.example') }, 'x of old')
    relays.opened(USER, owner('direct', 1), 'x of direct')
    expect(relays.ownerOf(USER, never)).to.include({ startedAt: 3 }).and.deep.include(from('https://old.example'))
  })

  it("a user's web relays belong to open sessions, or to ended ones if none is open", () => {
    const relays = new WebRelays()
    relays.opened(USER, owner('a'), 'x of a')
    relays.opened(USER, owner('b'), 'x of b')
    expect(relays.ownerOf(USER, (owner) => owner.kind === 'session' && owner.keys.includes('a'))).to.deep.equal(
      owner('b'),
    )
    expect(relays.ownerOf(USER, always)).to.deep.include({ keys: ['a', 'b'] })
    relays.opened(USER, { kind: 'none' }, undefined)
    expect(relays.ownerOf(USER, always)).to.equal(undefined)
  })

  it('per user, only the last 20 sessions that opened a web relay are remembered', () => {
    const relays = new WebRelays()
    for (let index = 0; index < 21; index += 1) relays.opened(USER, owner(`key ${index}`), `x ${index}`)
    const now = relays.ownerOf(USER, never)
    expect(now?.kind === 'session' && now.keys).to.deep.equal(
      Array.from({ length: 20 }, (_, index) => `key ${index + 1}`),
    )
    // The forgotten session may still be open.
    expect(relays.ownerOf(USER, always)).to.equal(undefined)
  })

  it('if too many users opened web relays, remembers only the most recent users', () => {
    const relays = new WebRelays(2)
    for (const user of ['one', 'two', 'one', 'three']) relays.opened(user, owner(user), 'x')
    expect(relays.sessionsWhere(always).map(({ user }) => user)).to.deep.equal(['one', 'three'])
  })
})
