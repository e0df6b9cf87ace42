import { expect } from 'chai'
import fc from 'fast-check'
import type { GroupSettings } from '../../../plugin/config/settings.ts'
import { decideAccess } from '../../../plugin/login/groups/access.ts'
import { groupChanges } from '../../../plugin/login/groups/group-sync.ts'
import { membershipsOf } from '../../../plugin/login/groups/memberships.ts'

const rules = (over: Partial<GroupSettings>): GroupSettings => ({
  recursive: false,
  required: null,
  siteadmin: null,
  revokeAdmin: true,
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
    expect(groupChanges(of, ['17'], ['a'])).to.deep.equal({ join: ['Ops'], leave: ['a'] })
  })

  it('are left alone when mirroring is off', () => {
    expect(groupChanges(membershipsOf(['a']), false, ['b'])).to.deep.equal({ join: [], leave: [] })
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
