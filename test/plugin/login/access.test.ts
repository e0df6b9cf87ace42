import { expect } from 'chai'
import fc from 'fast-check'
import type { GroupSettings } from '../../../plugin/config/settings.ts'
import { decideAccess } from '../../../plugin/login/groups/access.ts'
import { explainGroups } from '../../../plugin/login/groups/explain-groups.ts'
import { groupChanges } from '../../../plugin/login/groups/group-sync.ts'
import {
  claimedMemberships,
  isClaimElsewhere,
  type Memberships,
  membershipsOf,
} from '../../../plugin/login/groups/memberships.ts'
import { reportedGroups } from '../../../plugin/login/groups/reported-groups.ts'
import { rightsByGroups } from '../../../plugin/login/groups/rights.ts'

const rules = (over: Partial<GroupSettings>): GroupSettings => ({
  recursive: false,
  required: null,
  siteadmin: null,
  revokeAdmin: true,
  rights: null,
  sync: false,
  scope: 'groups',
  claim: null,
  ...over,
})
const admitted = (siteAdmin: 'grant' | 'revoke' | 'keep') => ({ admitted: true, siteAdmin })

describe('group memberships from a groups claim', () => {
  // Shows: plugin 6.9.
  // Shows: meshcentral 23.
  it('reads groups from an array, from a single name, and from objects with name or id', () => {
    expect(membershipsOf(['a', 'b'])).to.deep.equal([
      { name: 'a', aliases: [] },
      { name: 'b', aliases: [] },
    ])
    expect(membershipsOf('a b')).to.deep.equal([{ name: 'a b', aliases: [] }])
    expect(membershipsOf([{ name: 'Ops', id: '17' }, { id: '18' }])).to.deep.equal([
      { name: 'Ops', aliases: ['17'] },
      { name: '18', aliases: [] },
    ])
  })

  it('reads groups from the member names of an object if all its values are objects', () => {
    const roles = { 'mesh-admins': { '201982826478953724': 'example.zitadel.cloud' }, staff: {} }
    expect(membershipsOf(roles)).to.deep.equal([
      { name: 'mesh-admins', aliases: [] },
      { name: 'staff', aliases: [] },
    ])
    expect(membershipsOf({})).to.deep.equal([])
    for (const value of [{ a: {}, b: 'text' }, { a: ['x'] }, { a: null }, { '': {} }]) {
      expect(membershipsOf(value), JSON.stringify(value)).to.equal('unknown')
    }
  })

  it('group rules match two groups of the same name by their different ids', () => {
    const twins = membershipsOf([
      { name: 'Ops', id: '17' },
      { name: 'Ops', id: '18' },
    ])
    for (const required of ['17', '18', 'Ops']) {
      expect(decideAccess(twins, rules({ required: [required] })).admitted, required).to.equal(true)
    }
  })

  it("ignores a group's name if it has the form of another group's id", () => {
    const id = '0760b6cf-170e-4a14-91b3-4b78e0739963'
    expect(membershipsOf([{ name: id, id: '17' }])).to.deep.equal([{ name: '17', aliases: [] }])
    expect(membershipsOf([id, { name: id }, { id }])).to.deep.equal(Array(3).fill({ name: id, aliases: [] }))
  })

  // Shows: meshcentral 22.
  it('reads a missing groups claim as no groups, and an unusable claim as unknown', () => {
    expect(membershipsOf(undefined)).to.deep.equal([])
    expect(membershipsOf(null)).to.deep.equal([])
    for (const junk of [7, true, [7], ['a', {}], [['a']], '', ['a', null]]) {
      expect(membershipsOf(junk), JSON.stringify(junk).slice(0, 30)).to.equal('unknown')
    }
  })
})

describe('group memberships from the claims of a login', () => {
  it('groups are unknown if the ID token has none and UserInfo did not answer', () => {
    expect(() => claimedMemberships({ claims: {}, isPartial: true }, 'groups')).to.throw(/UserInfo gave no answer/)
    const groups = [{ name: 'ops', aliases: [] }]
    expect(claimedMemberships({ claims: { groups: 'ops' }, isPartial: true }, 'groups')).to.deep.equal(groups)
    expect(claimedMemberships({ claims: {} }, 'groups')).to.deep.equal([])
  })

  it('groups are unknown if the IdP refers to another source for the groups claim', () => {
    const elsewhere = { _claim_names: { groups: 'src1' } }
    expect(() => claimedMemberships({ claims: elsewhere }, 'groups')).to.throw(/refers to another place/)
    expect(isClaimElsewhere({ ...elsewhere, groups: [] }, 'groups')).to.equal(false)
    for (const _claim_names of ['text', null, undefined, {}]) {
      expect(isClaimElsewhere({ _claim_names }, 'length'), JSON.stringify(_claim_names)).to.equal(false)
    }
  })
})

describe('decisions by group rules', () => {
  const REFUSED = { admitted: false, code: 'not_in_required_group' }
  const UNKNOWN = { admitted: false, code: 'memberships_unknown' }
  const ID = '0760b6cf-170e-4a14-91b3-4b78e0739963'
  const OPS = { name: 'Ops', id: '17' }

  for (const [title, claim, groups, expected] of [
    ['without group rules, admits every user and changes no right', ['a'], null, admitted('keep')],
    ['without group rules, admits a user with unknown groups', 7, null, admitted('keep')],
    ['admits members of one of the required groups', ['x', 'b'], { required: ['a', 'b'] }, admitted('keep')],
    ['refuses a user outside the required groups', ['x'], { required: ['a', 'b'] }, REFUSED],
    ['refuses a user without groups claim if a group is required', undefined, { required: ['a'] }, REFUSED],
    ['a group rule matches a name only in the same letter case', ['Admins', 'adm'], { required: ['admins'] }, REFUSED],
    ['a group rule does not match a single letter of its name', ['a'], { siteadmin: ['admins'] }, admitted('revoke')],
    [
      'a rule matches case if its name has a letter before an id',
      [`X${ID.toUpperCase()}`],
      { required: [`x${ID}`] },
      REFUSED,
    ],
    [
      'a rule matches case if its name has a letter after an id',
      [`${ID.toUpperCase()}X`],
      { required: [`${ID}x`] },
      REFUSED,
    ],
    ['a group rule matches a group by its id', [OPS], { required: ['17'] }, admitted('keep')],
    ['refuses every user if the list of required groups is empty', ['a'], { required: [] }, REFUSED],
    ['grants site admin to members of a siteadmin group', ['admins'], { siteadmin: ['admins'] }, admitted('grant')],
    ['revokes site admin from users outside the siteadmin groups', [], { siteadmin: ['admins'] }, admitted('revoke')],
    ['keeps site admin if revokeAdmin is false', [], { siteadmin: ['admins'], revokeAdmin: false }, admitted('keep')],
    ['keeps site admin without a siteadmin rule', [], {}, admitted('keep')],
    ['refuses a user with unknown groups if a group is required', 7, { required: ['a'] }, UNKNOWN],
    ['changes no right of a user with unknown groups', 7, { siteadmin: ['a'] }, admitted('keep')],
  ] as const) {
    // Shows: plugin 6.17.
    // Shows: meshcentral 2.
    it(title, () => expect(decideAccess(membershipsOf(claim), groups && rules(groups))).to.deep.equal(expected))
  }

  // Shows: plugin 6.14.
  it('a group gives no rights if its name differs from the rule in a non-ASCII letter', () => {
    const rightsOf = (group: string, name: string) =>
      rightsByGroups(membershipsOf([name]), rules({ rights: [{ group, rights: ['manageusers'] }] }))
    const [granted, nothing] = [['manageusers'], []].map((rights) => ({ kind: 'set', rights }))
    // The Kelvin sign, the long s, and the Turkish capital i.
    for (const [group, name] of [
      ['kelvin', '\u212aelvin'],
      ['\u212aelvin', 'kelvin'],
      ['staff', '\u017ftaff'],
      ['ids', '\u0130ds'],
      ['Ärzte', 'ärzte'],
    ] as const) {
      expect(rightsOf(group, name), group).to.deep.equal(nothing)
    }
    // MeshCentral stores names in lower case.
    for (const name of ['Ärzte', 'ÄRZTE']) expect(rightsOf('ärzte', name)).to.deep.equal(granted)
    expect(rightsOf('Ärzte', 'ÄRZTE')).to.deep.equal(granted)
  })

  // Shows: plugin 6.5.
  it('a user gets the rights of all matching groups; letter case does not matter', () => {
    const groupRules = rules({
      rights: [
        { group: 'helpdesk', rights: ['manageusers', 'recordings'] },
        { group: 'Backup', rights: ['serverbackup', 'recordings'] },
      ],
    })
    for (const [groups, rights] of [
      [['Helpdesk'], ['manageusers', 'recordings']],
      [
        ['backup', 'helpdesk'],
        ['manageusers', 'recordings', 'serverbackup'],
      ],
      [[{ name: 'Night shift', id: 'BACKUP' }], ['serverbackup', 'recordings']],
      [['help'], []],
      [[], []],
    ] as const) {
      expect(rightsByGroups(membershipsOf(groups), groupRules)).to.deep.equal({ kind: 'set', rights })
    }
    expect(rightsByGroups('unknown', groupRules)).to.deep.equal({ kind: 'keep' })
    expect(rightsByGroups(membershipsOf(['helpdesk']), rules({}))).to.deep.equal({ kind: 'keep' })
  })
})

describe('changes of mirrored groups', () => {
  const [first, second] = [
    { name: 'Ops', aliases: ['17'] },
    { name: 'Ops', aliases: ['18'] },
  ]
  for (const [title, memberOf, sync, mirrored, join, leave] of [
    [
      'a user joins and leaves mirrored groups as the IdP reports',
      membershipsOf(['a', 'b']),
      'all',
      ['b', 'c'],
      ['a'],
      ['c'],
    ],
    ['a user leaves the last mirrored group', [], 'all', ['a'], [], ['a']],
    ['mirrored groups do not change if the groups are unknown', 'unknown', 'all', ['a'], [], []],
    ['a user joins one mirrored group for two groups of one name', [first, second], 'all', [], ['Ops'], []],
    ['a user in one of two groups of one name stays in the mirrored group', [second], 'all', ['Ops'], [], []],
    ['a user joins a mirrored group by the id in the filter', [first, second], ['18'], [], ['Ops'], []],
    ['a user leaves a mirrored group if the filter names another id', [first], ['18'], ['Ops'], [], ['Ops']],
    ['mirrors only groups that the filter names', [...membershipsOf(['a']), first], ['17', 'b'], ['a'], ['Ops'], ['a']],
  ] as readonly (readonly [string, Memberships, 'all' | string[], string[], string[], string[]])[]) {
    // Shows: plugin 6.7.
    it(title, () => expect(groupChanges(memberOf, sync, mirrored)).to.deep.equal({ join, leave }))
  }

  // Shows: plugin 6.17.
  // Shows: meshcentral 21, 22.
  it("after a login, the mirrored groups of a user equal the user's groups at the IdP", () => {
    const names = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'))
    fc.assert(
      fc.property(names, fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e')), (memberOf, mirrored) => {
        const { join, leave } = groupChanges(membershipsOf(memberOf), 'all', mirrored)
        const groupsAfter = [...mirrored.filter((name) => !leave.includes(name)), ...join]
        expect(groupsAfter).to.have.members([...new Set(memberOf)])
        expect(mirrored).to.include.members([...leave])
      }),
    )
  })

  it('a user joins none of over 1,000 mirrored groups, but group rules consider all', () => {
    const names = (count: number) => Array.from({ length: count }, (_, index) => `g${index}`)
    const most = membershipsOf(names(1_000))
    expect(groupChanges(most, 'all', ['g0', 'old'])).to.deep.equal({ join: names(1_000).slice(1), leave: ['old'] })
    const many = membershipsOf(names(5_001))
    expect(groupChanges(many, 'all', ['g0', 'old'])).to.deep.equal({ join: [], leave: ['old'], tooMany: 5_001 })
    expect(groupChanges(many, ['g7'], ['old'])).to.deep.equal({ join: ['g7'], leave: ['old'] })
    expect(decideAccess(many, rules({ siteadmin: ['admins'] }))).to.deep.equal(admitted('revoke'))
    expect(decideAccess(many, rules({ required: ['g5000'] })).admitted).to.equal(true)
  })
})

describe('details about groups in the log line of a refused login', () => {
  const group = (name: string, ...aliases: readonly string[]) => ({ name, aliases })
  const names = (count: number) => Array.from({ length: count }, (_, index) => `g${index}`)
  const report = (groups: Memberships, claim: string | null, granted: readonly string[] | null, scope: string | null) =>
    reportedGroups(groups, claim, { claims: { sub: '1', roles: [] }, grantedScopes: granted }, { scope }, false)

  const FIFTY = { groups: names(50), groupCount: 51 }
  const CAME = { claimNames: ['sub', 'roles'], cameForOthers: false }
  for (const [content, memberOf, claim, granted, scope, expected] of [
    ['nothing for unknown memberships', 'unknown', 'groups', [], 'g', {}],
    ['names with their aliases', [group('a'), group('b', '7', '8')], 'x', [], 'g', { groups: ['a', 'b (7, 8)'] }],
    ['at most 50 names', names(51).map((name) => group(name)), 'x', null, 'g', FIFTY],
    ['exactly 50 names without a count', names(50).map((name) => group(name)), 'x', null, 'g', { groups: names(50) }],
    ['a missing claim', [], 'x', null, 'g', { groups: [], missingClaim: 'x', ...CAME }],
    ['a scope that was not granted', [], 'roles', ['a'], 'g', { groups: [], scopeNotGranted: 'g' }],
    ['nothing missing if the claim came and the scope was granted', [], 'roles', ['a', 'g'], 'g', { groups: [] }],
    ['no scope if none was requested', [], 'roles', ['a'], null, { groups: [] }],
    ['no claim if groups come from an API', [], null, null, 'g', { groups: [] }],
  ] as const) {
    it(`a refusal by group rules reports ${content}`, () =>
      expect(report(memberOf, claim, granted, scope)).to.deep.equal(expected))
  }

  it('a refusal by group rules lists at most 50 claim names', () => {
    const claims = Object.fromEntries(names(60).map((name) => [name, 1]))
    const reported = reportedGroups([], 'x', { claims, grantedScopes: null }, { scope: null }, false)
    expect(reported.claimNames).to.deep.equal(names(50))
  })
})

describe('explanation of group rules', () => {
  const RULES = rules({ required: ['Ops', 'Staff'], siteadmin: ['Admins'], sync: ['Ops', 'Radio'] })

  // Shows: plugin 9.30.
  it('explains the group rules for known groups, for no groups and for unknown groups', () => {
    expect(explainGroups(['Ops', 'Admins', 'Other'], RULES)).to.deep.equal([
      'a member of "Ops", "Admins", "Other":',
      '  admitted: in "Ops", of groups.required',
      '  site admin: granted, in "Admins", of groups.siteadmin',
      '  user groups: joins "Ops", of groups.sync.filter ("Ops", "Radio"); leaves every other mirrored one',
      'a member of no group:',
      '  refused: in none of groups.required ("Ops", "Staff") (not_in_required_group)',
      '  sessions: if the user has an account, its sessions end in all browsers, and its login tokens stop working',
      '  site admin: revoked, because the user is refused; groups.revokeAdmin is true',
      '  user groups: leaves every mirrored one, because the user is refused',
      'a user whose groups cannot be read:',
      '  refused: groups.required is set, and the groups are unknown (memberships_unknown)',
      '  sessions: kept as they are, because the groups are unknown',
      '  site admin: kept as it is, because the groups are unknown',
      '  user groups: kept as they are, because the groups are unknown',
    ])
  })

  const NONE_OF = 'in none of groups.siteadmin ("Admins")'
  const open = rules({ siteadmin: ['Admins'], sync: 'all' })
  const keeping = rules({ siteadmin: ['Admins'], revokeAdmin: false })
  for (const [names, groupRules, line] of [
    [[], open, 'admitted: groups.required is not set'],
    [['Ops'], rules({ required: [] }), 'refused: in none of groups.required (an empty list) (not_in_required_group)'],
    [[], open, `site admin: revoked, ${NONE_OF}; groups.revokeAdmin is true`],
    [[], open, 'site admin: kept as it is, because the groups are unknown'],
    [[], keeping, `site admin: kept as it is, ${NONE_OF}, but groups.revokeAdmin is false`],
    [[], rules({}), 'site admin: kept as it is, because groups.siteadmin is not set'],
    [['Ops'], open, 'user groups: joins "Ops", groups.sync is true; leaves every other mirrored one'],
    [[], open, 'user groups: joins none, groups.sync is true; leaves every mirrored one'],
    [[], open, 'user groups: kept as they are, because the groups are unknown'],
    [[], keeping, 'user groups: kept as they are, because groups.sync is not set'],
  ] as const) {
    it(`the explanation of group rules says: ${line}`, () =>
      expect(explainGroups(names, groupRules)).to.include(`  ${line}`))
  }

  it('the explanation of group rules for no groups begins "a member of no group:"', () =>
    expect(explainGroups([], RULES)[0]).to.equal('a member of no group:'))

  it('the explanation of group rules is one line if there are no rules', () =>
    expect(explainGroups(['Ops'], null)).to.have.length(1))

  it('the explanation of group rules says which rights are given, revoked or kept', () => {
    const rights = [{ group: 'helpdesk', rights: ['manageusers', 'recordings'] }] as const
    const explainRights = (names: readonly string[], more: Partial<GroupSettings> = {}) =>
      explainGroups(names, rules({ siteadmin: ['Admins'], required: ['helpdesk', 'Admins', 'Staff'], rights, ...more }))
        .map((line) => line.trim())
        .filter((line) => line.startsWith('rights: '))
    expect(explainRights(['Helpdesk', 'Staff'])).to.deep.equal([
      'rights: manageusers, recordings, by groups.rights; others that groups gave before are revoked',
      'rights: those that groups gave are revoked, because the user is refused',
      'rights: kept as they are, because the groups are unknown',
    ])
    expect(explainRights(['Admins'])[0]).to.equal('rights: all, as a site admin')
    expect(explainRights(['Staff'], { revokeAdmin: false })[0]).to.equal(
      'rights: none by groups.rights; others that groups gave before are kept, because groups.revokeAdmin is false',
    )
  })
})
