import { expect } from 'chai'
import fc from 'fast-check'
import type { GroupSettings } from '../../../plugin/config/settings.ts'
import { decideAccess } from '../../../plugin/login/groups/access.ts'
import { explainGroups } from '../../../plugin/login/groups/explain-groups.ts'
import { groupChanges } from '../../../plugin/login/groups/group-sync.ts'
import { type Memberships, membershipsOf } from '../../../plugin/login/groups/memberships.ts'
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

describe('memberships from a groups claim', () => {
  it('reads an array, a single name, and objects with name or id', () => {
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

  it('keeps groups with one name and different ids apart, so that a rule finds each by its id', () => {
    const twins = membershipsOf([
      { name: 'Ops', id: '17' },
      { name: 'Ops', id: '18' },
    ])
    for (const required of ['17', '18', 'Ops']) {
      expect(decideAccess(twins, rules({ required: [required] })).admitted, required).to.equal(true)
    }
  })

  it('takes no name for the id of another group', () => {
    const id = '0760b6cf-170e-4a14-91b3-4b78e0739963'
    expect(membershipsOf([{ name: id, id: '17' }])).to.deep.equal([{ name: '17', aliases: [] }])
    expect(membershipsOf([id, { name: id }, { id }])).to.deep.equal(Array(3).fill({ name: id, aliases: [] }))
  })

  it('takes a missing claim for no memberships, and anything unusable for unknown', () => {
    expect(membershipsOf(undefined)).to.deep.equal([])
    expect(membershipsOf(null)).to.deep.equal([])
    for (const junk of [7, true, {}, [7], ['a', {}], [['a']], '', ['a', null]]) {
      expect(membershipsOf(junk), JSON.stringify(junk).slice(0, 30)).to.equal('unknown')
    }
  })
})

describe('group rules', () => {
  it('admit everybody and change no right when there are none', () => {
    expect(decideAccess(membershipsOf(['a']), null)).to.deep.equal(admitted('keep'))
    expect(decideAccess('unknown', null)).to.deep.equal(admitted('keep'))
  })

  it('admit only members of a required group', () => {
    const required = rules({ required: ['a', 'b'] })
    expect(decideAccess(membershipsOf(['x', 'b']), required)).to.deep.equal(admitted('keep'))
    expect(decideAccess(membershipsOf(['x']), required)).to.deep.equal({
      admitted: false,
      code: 'not_in_required_group',
    })
    expect(decideAccess(membershipsOf(undefined), required)).to.deep.equal({
      admitted: false,
      code: 'not_in_required_group',
    })
  })

  it('match whole names, case included, and never single letters of one', () => {
    expect(decideAccess(membershipsOf(['A', 'ad', 'adm']), rules({ required: ['admins'] })).admitted).to.equal(false)
    expect(decideAccess(membershipsOf(['a']), rules({ siteadmin: ['admins'] }))).to.deep.equal(admitted('revoke'))
    const id = '0760b6cf-170e-4a14-91b3-4b78e0739963'
    for (const name of [`x${id}`, `${id}x`]) {
      expect(decideAccess(membershipsOf([name.toUpperCase()]), rules({ required: [name] })).admitted).to.equal(false)
    }
  })

  it('match a group by its id as well as by its name', () => {
    expect(decideAccess(membershipsOf([{ name: 'Ops', id: '17' }]), rules({ required: ['17'] })).admitted).to.equal(
      true,
    )
  })

  it('admit nobody with an empty list', () => {
    expect(decideAccess(membershipsOf(['a']), rules({ required: [] })).admitted).to.equal(false)
  })

  it('grant site admin to members, and revoke it from all others unless told not to', () => {
    const siteadmin = rules({ siteadmin: ['admins'] })
    expect(decideAccess(membershipsOf(['admins']), siteadmin)).to.deep.equal(admitted('grant'))
    expect(decideAccess(membershipsOf([]), siteadmin)).to.deep.equal(admitted('revoke'))
    expect(decideAccess(membershipsOf([]), { ...siteadmin, revokeAdmin: false })).to.deep.equal(admitted('keep'))
    expect(decideAccess(membershipsOf([]), rules({}))).to.deep.equal(admitted('keep'))
  })

  it('give the rights of all groups together, in any letter case of their names, and none to others', () => {
    const given = rules({
      rights: [
        { group: 'helpdesk', rights: ['manageusers', 'recordings'] },
        { group: 'backup', rights: ['serverbackup', 'recordings'] },
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
      expect(rightsByGroups(membershipsOf(groups), given)).to.deep.equal({ kind: 'set', rights })
    }
    expect(rightsByGroups('unknown', given)).to.deep.equal({ kind: 'keep' })
    expect(rightsByGroups(membershipsOf(['helpdesk']), rules({}))).to.deep.equal({ kind: 'keep' })
  })

  it('with unknown memberships refuse where a group is required, and change nothing else', () => {
    expect(decideAccess('unknown', rules({ required: ['a'] }))).to.deep.equal({
      admitted: false,
      code: 'memberships_unknown',
    })
    expect(decideAccess('unknown', rules({ siteadmin: ['a'] }))).to.deep.equal(admitted('keep'))
    expect(groupChanges('unknown', 'all', ['a'])).to.deep.equal({ join: [], leave: [] })
  })
})

describe('mirrored groups', () => {
  it('are joined and left as the IdP says', () => {
    expect(groupChanges(membershipsOf(['a', 'b']), 'all', ['b', 'c'])).to.deep.equal({ join: ['a'], leave: ['c'] })
  })

  it('are joined once where two groups bear one name, and left only when the user is in neither', () => {
    const [one, two] = [
      { name: 'Ops', aliases: ['17'] },
      { name: 'Ops', aliases: ['18'] },
    ]
    expect(groupChanges([one, two], 'all', [])).to.deep.equal({ join: ['Ops'], leave: [] })
    expect(groupChanges([two], 'all', ['Ops'])).to.deep.equal({ join: [], leave: [] })
    expect(groupChanges([one, two], ['18'], [])).to.deep.equal({ join: ['Ops'], leave: [] })
    expect(groupChanges([one], ['18'], ['Ops'])).to.deep.equal({ join: [], leave: ['Ops'] })
  })

  it('are after a login exactly those that the IdP says, whichever they were before', () => {
    const names = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'))
    fc.assert(
      fc.property(names, fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e')), (memberOf, mirrored) => {
        const { join, leave } = groupChanges(membershipsOf(memberOf), 'all', mirrored)
        const after = [...mirrored.filter((name) => !leave.includes(name)), ...join]
        expect(after).to.have.members([...new Set(memberOf)])
        expect(mirrored).to.include.members([...leave])
      }),
    )
  })

  it('are left to the last one', () => {
    expect(groupChanges(membershipsOf(undefined), 'all', ['a'])).to.deep.equal({ join: [], leave: ['a'] })
  })

  it('are only the filtered ones where there is a filter', () => {
    const of = membershipsOf(['a', { name: 'Ops', id: '17' }])
    expect(groupChanges(of, ['17', 'b'], ['a'])).to.deep.equal({ join: ['Ops'], leave: ['a'] })
  })

  it('are no more of than 1,000: none is joined, those of before are left, and rights go by all groups', () => {
    const names = (count: number) => Array.from({ length: count }, (_, at) => `g${at}`)
    const most = membershipsOf(names(1_000))
    expect(groupChanges(most, 'all', ['g0', 'old'])).to.deep.equal({ join: names(1_000).slice(1), leave: ['old'] })
    const many = membershipsOf(names(5_001))
    expect(groupChanges(many, 'all', ['g0', 'old'])).to.deep.equal({ join: [], leave: ['old'], tooMany: 5_001 })
    expect(groupChanges(many, ['g7'], ['old'])).to.deep.equal({ join: ['g7'], leave: ['old'] })
    expect(decideAccess(many, rules({ siteadmin: ['admins'] }))).to.deep.equal(admitted('revoke'))
    expect(decideAccess(many, rules({ required: ['g5000'] })).admitted).to.equal(true)
  })
})

describe('what a refusal reports of groups', () => {
  const group = (name: string, ...aliases: readonly string[]) => ({ name, aliases })
  const names = (count: number) => Array.from({ length: count }, (_, at) => `g${at}`)
  const report = (groups: Memberships, claim: string | null, granted: readonly string[] | null, scope: string | null) =>
    reportedGroups(groups, claim, { claims: { sub: '1', roles: [] }, grantedScopes: granted }, { scope }, false)

  for (const [what, memberOf, claim, granted, scope, expected] of [
    ['nothing where nobody knows', 'unknown', 'groups', [], 'g', {}],
    ['names and their aliases', [group('a'), group('b', '7')], 'x', [], 'g', { groups: ['a', 'b (7)'] }],
    ['all aliases', [group('a', '1', '2')], 'x', [], 'g', { groups: ['a (1, 2)'] }],
    ['fifty names', names(50).map((name) => group(name)), 'x', null, 'g', { groups: names(50) }],
    [
      'fifty of more names',
      names(51).map((name) => group(name)),
      'x',
      null,
      'g',
      { groups: names(50), groupCount: 51 },
    ],
    [
      'that the claim did not come',
      [],
      'x',
      null,
      'g',
      { groups: [], missingClaim: 'x', claimNames: ['sub', 'roles'], cameForOthers: false },
    ],
    ['that the scope was not granted', [], 'roles', ['a'], 'g', { groups: [], scopeNotGranted: 'g' }],
    ['nothing missing where all came, and was granted', [], 'roles', ['a', 'g'], 'g', { groups: [] }],
    ['no scope where none was asked for', [], 'roles', ['a'], null, { groups: [] }],
    ['no claim where groups come from an API', [], null, null, 'g', { groups: [] }],
  ] as const) {
    it(`is ${what}`, () => expect(report(memberOf, claim, granted, scope)).to.deep.equal(expected))
  }

  it('is of the names of claims fifty too', () => {
    const claims = Object.fromEntries(names(60).map((name) => [name, 1]))
    const reported = reportedGroups([], 'x', { claims, grantedScopes: null }, { scope: null }, false)
    expect(reported.claimNames).to.deep.equal(names(50))
  })
})

describe('an explanation of group rules', () => {
  const RULES = rules({ required: ['Ops', 'Staff'], siteadmin: ['Admins'], sync: ['Ops', 'Radio'] })
  const open = rules({ siteadmin: ['Admins'], sync: 'all' })

  it('says by which rule a member of exactly these groups, of none, and of unknown ones is let in', () => {
    expect(explainGroups(['Ops', 'Admins', 'Other'], RULES)).to.deep.equal([
      'a member of "Ops", "Admins", "Other":',
      '  admitted: in "Ops", of groups.required',
      '  site admin: granted, in "Admins", of groups.siteadmin',
      '  user groups: joins "Ops", of groups.sync.filter ("Ops", "Radio"); leaves every other mirrored one',
      'a member of no group:',
      '  refused: in none of groups.required ("Ops", "Staff") (not_in_required_group)',
      '  sessions: those of somebody who has an account end, in all browsers',
      '  site admin: kept as it is, since nothing is written for somebody who is refused',
      '  user groups: kept as they are',
      'somebody whose groups cannot be learned:',
      '  refused: groups.required is set, and nobody knows (memberships_unknown)',
      '  sessions: kept as they are, since nobody knows',
      '  site admin: kept as it is, since nothing is written for somebody who is refused',
      '  user groups: kept as they are',
    ])
  })

  it('tells revoked rights from kept ones, and what happens to mirrored groups', () => {
    expect(explainGroups(['Ops'], open)).to.deep.equal([
      'a member of "Ops":',
      '  admitted: groups.required is not set',
      '  site admin: revoked, in none of groups.siteadmin ("Admins"); groups.revokeAdmin is true',
      '  user groups: joins "Ops", groups.sync is true; leaves every other mirrored one',
      'a member of no group:',
      '  admitted: groups.required is not set',
      '  site admin: revoked, in none of groups.siteadmin ("Admins"); groups.revokeAdmin is true',
      '  user groups: joins none, groups.sync is true; leaves every mirrored one',
      'somebody whose groups cannot be learned:',
      '  admitted: groups.required is not set',
      '  site admin: kept as it is, since nobody knows',
      '  user groups: kept as they are, since nobody knows',
    ])
  })

  it('says which rights groups give, to whom rights are left alone, and what becomes of those that they gave before', () => {
    const rights = [{ group: 'helpdesk', rights: ['manageusers', 'recordings'] }] as const
    const told = (names: readonly string[], more: Partial<GroupSettings> = {}) =>
      explainGroups(names, rules({ siteadmin: ['Admins'], required: ['helpdesk', 'Admins', 'Staff'], rights, ...more }))
        .map((line) => line.trim())
        .filter((line) => line.startsWith('rights: '))
    expect(told(['Helpdesk', 'Staff'])).to.deep.equal([
      'rights: manageusers, recordings, by groups.rights; others that groups gave before are taken away',
      'rights: kept as they are',
      'rights: kept as they are',
    ])
    expect(told(['Admins'])[0]).to.equal('rights: all, as a site admin')
    expect(told(['Staff'], { revokeAdmin: false })[0]).to.equal(
      'rights: none by groups.rights; others that groups gave before are kept, since groups.revokeAdmin is false',
    )
  })

  it('names the rule by which everything stays as it is', () => {
    const keeping = explainGroups([], rules({ siteadmin: ['Admins'], revokeAdmin: false }))
    expect(keeping.slice(0, 4)).to.deep.equal([
      'a member of no group:',
      '  admitted: groups.required is not set',
      '  site admin: kept as it is, in none of groups.siteadmin ("Admins"), but groups.revokeAdmin is false',
      '  user groups: kept as they are, since groups.sync is not set',
    ])
    expect(explainGroups(['Ops'], rules({ required: [] }))[1]).to.match(/groups\.required \(an empty list\)/)
    expect(explainGroups([], rules({}))[2]).to.match(/kept as it is, since groups\.siteadmin is not set$/)
    expect(explainGroups(['Ops'], null)).to.have.length(1)
  })
})
