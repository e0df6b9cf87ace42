import { expect } from 'chai'
import { recordsInMemory } from '../../../fixtures/host/accounts-memory.ts'
import type { Records } from '../../../fixtures/host/records.ts'
import type { Profile } from '../../../plugin/host/port.ts'
import { type Memberships, membershipsOf } from '../../../plugin/login/groups/memberships.ts'
import { signIn } from '../../../plugin/login/sign-in.ts'
import { MINIMAL, settingsOf } from '../config/single-domain.ts'

const ALICE: Profile = { id: '~oidc:1', name: 'Alice', email: 'alice@example.test', emailVerified: true }
const NOTHING = { created: false, siteAdmin: 'keep', joined: [], left: [] }

describe('signing in with mirrored groups', () => {
  let records: Records
  beforeEach(() => {
    records = recordsInMemory()
  })
  afterEach(() => records.close())

  const logIn = (memberships: Memberships, groups?: object) =>
    signIn(ALICE, memberships, settingsOf({ ...MINIMAL, newAccounts: true, ...(groups && { groups }) }), records)
  const mirrored = () => records.groups.mirroredOf('', ALICE.id)

  // Shows: plugin 6.6.
  it('at login, the user joins and leaves mirrored groups as the IdP reports', async () => {
    for (const [groups, joined, left] of [
      [['a', 'b'], ['a', 'b'], []],
      [['b', 'c'], ['c'], ['a']],
      [[], [], ['b', 'c']],
    ] as const) {
      expect(await logIn(membershipsOf(groups), { sync: true })).to.deep.include({ joined, left })
      expect(await mirrored()).to.have.members([...groups])
    }
  })

  // Shows: plugin 6.6.
  it('at login, the user stays in groups that are no longer mirrored', async () => {
    await logIn(membershipsOf(['a']), { sync: true })
    for (const groups of [{ sync: false }, {}, undefined]) expect(await logIn([], groups)).to.deep.equal(NOTHING)
    expect(await mirrored()).to.deep.equal(['a'])
  })
})
