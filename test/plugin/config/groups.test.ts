import { expect } from 'chai'
import { MINIMAL, problemPaths, settingsOf, warningsOf } from './one-domain.ts'

const groups = (members: object) => settingsOf({ ...MINIMAL, groups: members }).groups
const problems = (members: unknown) => problemPaths({ ...MINIMAL, groups: members })

describe('groups configuration', () => {
  it('is null when there is none', () => {
    expect(settingsOf(MINIMAL).groups).to.equal(null)
  })

  it('has its defaults, with admin rights revoked', () => {
    expect(groups({})).to.deep.equal({
      recursive: false,
      required: null,
      siteadmin: null,
      revokeAdmin: true,
      rights: null,
      sync: false,
      scope: 'groups',
      claim: null,
    })
  })

  for (const name of ['required', 'siteadmin'] as const) {
    it(`takes ${name} as one name or several; an empty list stays a list`, () => {
      for (const [value, expected] of [
        ['mesh-admins', ['mesh-admins']],
        ['Two words, one group', ['Two words, one group']],
        [
          ['a', 'b', 'a'],
          ['a', 'b'],
        ],
        [[], []],
      ] as const) {
        expect(groups({ [name]: value })?.[name]).to.deep.equal(expected)
      }
      for (const wrong of ['', 5, null, true, { a: 1 }])
        expect(problems({ [name]: wrong })).to.deep.equal([`groups.${name}`])
      expect(problems({ [name]: ['a', '', 5] })).to.have.members([`groups.${name}[1]`, `groups.${name}[2]`])
    })
  }

  for (const name of ['recursive', 'revokeAdmin'] as const) {
    it(`takes ${name} as a boolean`, () => {
      for (const value of [true, false]) expect(groups({ [name]: value })?.[name]).to.equal(value)
      for (const wrong of ['false', 0, null]) expect(problems({ [name]: wrong })).to.deep.equal([`groups.${name}`])
    })
  }

  it('takes rights as lists by name of a group, of those that MeshCentral has', () => {
    const rights = { helpdesk: ['manageusers', 'recordings'], '/Backup, nightly': ['serverbackup'], nobody: [] }
    expect(groups({ rights })?.rights).to.deep.equal([
      { group: 'helpdesk', rights: ['manageusers', 'recordings'] },
      { group: '/Backup, nightly', rights: ['serverbackup'] },
      { group: 'nobody', rights: [] },
    ])
    for (const wrong of ['helpdesk', 5, null, ['helpdesk']]) expect(problems({ rights: wrong })).to.have.length(1)
    for (const wrong of ['fulladmin', 'locked', 'ManageUsers', '', 2]) {
      expect(problems({ rights: { helpdesk: ['recordings', wrong] } })).to.deep.equal(['groups.rights.helpdesk[1]'])
    }
    expect(problems({ rights: { helpdesk: 'recordings' } })).to.deep.equal(['groups.rights.helpdesk'])
  })

  it('warns of rights where the server has none that groups could give', () => {
    const oidc = { ...MINIMAL, groups: { rights: { helpdesk: ['recordings'] } } }
    expect(warningsOf(oidc)).to.deep.equal(['no_effect groups.rights'])
    expect(warningsOf(oidc, { hasRights: true })).to.deep.equal([])
  })

  it('takes sync as true, false or an object with a filter', () => {
    for (const [value, expected] of [
      [true, 'all'],
      [false, false],
      [{ filter: 'a' }, ['a']],
      [{ filter: ['a', 'b'] }, ['a', 'b']],
      [{ filter: [] }, []],
    ] as const) {
      expect(groups({ sync: value })?.sync).to.deep.equal(expected)
    }
    expect(problems({ sync: {} })).to.deep.equal(['groups.sync.filter'])
    expect(problems({ sync: { filter: 5 } })).to.deep.equal(['groups.sync.filter'])
    expect(problems({ sync: { filter: 'a', fliter: 'b' } })).to.deep.equal(['groups.sync.fliter'])
    for (const wrong of ['all', 1, null, ['a']]) expect(problems({ sync: wrong })).to.deep.equal(['groups.sync'])
  })

  it('takes claim as a text', () => {
    expect(groups({ claim: 'roles' })?.claim).to.equal('roles')
    for (const wrong of ['', 5, null, ['roles']]) expect(problems({ claim: wrong })).to.deep.equal(['groups.claim'])
  })

  it('takes scope as a text, and as false or empty where none is to be asked for', () => {
    expect(groups({ scope: 'roles' })?.scope).to.equal('roles')
    for (const none of ['', false]) {
      expect(groups({ scope: none })?.scope).to.equal(null)
      expect(settingsOf({ ...MINIMAL, groups: { scope: none } }).custom.scope).to.deep.equal([
        'openid',
        'profile',
        'email',
      ])
    }
    for (const wrong of [true, 5, null, ['roles']]) expect(problems({ scope: wrong })).to.deep.equal(['groups.scope'])
  })

  it('refuses what is no object, and unknown members', () => {
    for (const wrong of ['admins', true, null, ['admins']]) expect(problems(wrong)).to.deep.equal(['groups'])
    expect(problems({ siteadmins: 'a' })).to.deep.equal(['groups.siteadmins'])
  })
})
