import { expect } from 'chai'
import {
  asGiven,
  flagCase,
  itReadsMembers,
  type MemberCase,
  MINIMAL,
  problemPaths,
  settingsOf,
  warningsOf,
} from './single-domain.ts'

const problems = (members: unknown) => problemPaths({ ...MINIMAL, groups: members })

describe('settings in authStrategies.oidc.groups', () => {
  it('the groups settings are null if the configuration has no groups object', () => {
    expect(settingsOf(MINIMAL).groups).to.equal(null)
  })

  // Shows: plugin 6.4.
  it('group settings have the documented defaults if the groups object is empty', () => {
    expect(settingsOf({ ...MINIMAL, groups: {} }).groups).to.deep.equal({
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

  const nameListCase = (name: string): MemberCase => [
    `accepts groups.${name} as a string or an array of strings`,
    name,
    [
      ['mesh-admins', ['mesh-admins']],
      ['Two words, one group', ['Two words, one group']],
      [
        ['a', 'b', 'a'],
        ['a', 'b'],
      ],
    ],
    ['', 5, null, true, { a: 1 }],
  ]
  // Shows: plugin 6.2, 6.3, 6.7.
  itReadsMembers('groups', [
    ...['required', 'siteadmin'].map(nameListCase),
    flagCase('revokeAdmin'),
    ['refuses a groups.recursive that is not a boolean', 'recursive', asGiven(false), ['false', 0, null]],
    [
      'accepts groups.sync as true, false or an object with a filter',
      'sync',
      [
        [true, 'all'],
        [false, false],
        [{ filter: 'a' }, ['a']],
        [{ filter: ['a', 'b'] }, ['a', 'b']],
        [{ filter: [] }, []],
      ],
      ['all', 1, null, ['a']],
    ],
    ['refuses a groups.claim that is not a non-empty string', 'claim', asGiven('roles'), ['', 5, null, ['roles']]],
    [
      'accepts groups.scope as a string, and false or "" for no scope',
      'scope',
      [...asGiven('roles'), ['', null], [false, null]],
      [true, 5, null, ['roles']],
    ],
  ])

  it('reports an invalid groups.required, siteadmin or sync, but accepts empty lists', () => {
    for (const name of ['required', 'siteadmin']) {
      expect(settingsOf({ ...MINIMAL, groups: { [name]: [] } }).groups).to.deep.include({ [name]: [] })
      expect(problems({ [name]: ['a', '', 5] })).to.have.members([`groups.${name}[1]`, `groups.${name}[2]`])
    }
    for (const sync of [{}, { filter: 5 }]) expect(problems({ sync })).to.deep.equal(['groups.sync.filter'])
    expect(problems({ sync: { filter: 'a', fliter: 'b' } })).to.deep.equal(['groups.sync.fliter'])
    expect(settingsOf({ ...MINIMAL, groups: { recursive: true } }).groups?.recursive).to.equal(true)
    const { custom } = settingsOf({ ...MINIMAL, groups: { scope: false } })
    expect(custom.scope).to.deep.equal(['openid', 'profile', 'email'])
  })

  // Shows: plugin 6.5.
  it('accepts groups.rights as an object that maps group names to known rights', () => {
    const rights = { helpdesk: ['manageusers', 'recordings'], '/Backup, nightly': ['serverbackup'], nobody: [] }
    expect(settingsOf({ ...MINIMAL, groups: { rights } }).groups?.rights).to.deep.equal(
      Object.entries(rights).map(([group, names]) => ({ group, rights: names })),
    )
    for (const wrong of ['helpdesk', 5, null, ['helpdesk']]) expect(problems({ rights: wrong })).to.have.length(1)
    for (const wrong of ['fulladmin', 'locked', 'manage users', '', 2]) {
      expect(problems({ rights: { helpdesk: ['recordings', wrong] } })).to.deep.equal(['groups.rights.helpdesk[1]'])
    }
    expect(problems({ rights: { helpdesk: 'recordings' } })).to.deep.equal(['groups.rights.helpdesk'])
  })

  // Shows: plugin 6.14.
  it('accepts names of rights in any ASCII letter case, as MeshCentral does', () => {
    const rights = { helpdesk: ['ManageUsers', 'RECORDINGS'] }
    expect(settingsOf({ ...MINIMAL, groups: { rights } }).groups?.rights).to.deep.equal([
      { group: 'helpdesk', rights: ['manageusers', 'recordings'] },
    ])
    expect(problems({ rights: { helpdesk: ['loc\u212asettings', 'Locked'] } })).to.deep.equal([
      'groups.rights.helpdesk[0]',
      'groups.rights.helpdesk[1]',
    ])
  })

  it('warns of groups.rights on a host application that has no such rights', () => {
    const oidc = { ...MINIMAL, groups: { rights: { helpdesk: ['recordings'] } } }
    expect(warningsOf(oidc)).to.deep.equal(['no_effect groups.rights'])
    expect(warningsOf(oidc, { hasRights: true })).to.deep.equal([])
  })

  it('refuses unknown members of groups', () => {
    expect(problems({ siteadmins: 'a' })).to.deep.equal(['groups.siteadmins'])
  })
})
