import { expect } from 'chai'
import type { LabOptions } from '../support/lab.ts'
import { ALICE, BOB, CAROL } from '../support/people.ts'
import type { RealIdp } from '../support/real-idp.ts'
import { describeVisit, expectNoComplaint, expectRefused, signInAs } from './expectations.ts'
import type { Bench, Runs } from './run.ts'

/** Returns options that make this provider send groups: by scope where it can, else unasked. */
export function groupsOf(idp: RealIdp, rules: Record<string, unknown>): LabOptions {
  return idp.cannot.groups_by_scope === undefined ? byScope(rules) : unasked(rules)
}
const byScope = (rules: Record<string, unknown>): LabOptions => ({ registered: { groups: 'by_scope' }, groups: rules })
const unasked = (rules: Record<string, unknown>): LabOptions => ({
  registered: { groups: 'unasked' },
  groups: { scope: '', ...rules },
})

async function requires({ idp, lab: start }: Bench, way: typeof byScope): Promise<void> {
  const lab = await start(way({ required: idp.groupName('mesh-admins') }))
  const visit = await signInAs(lab, ALICE)
  expectNoComplaint(lab, visit.page)
  expectRefused(lab, await lab.signIn(BOB), 'not_in_required_group', [/groups\.required/])
}

async function sendsGroupsIn(bench: Bench, claimsIn: 'id_token' | 'userinfo'): Promise<void> {
  const { idp, lab: start } = bench
  const { registered, ...more } = groupsOf(idp, { required: idp.groupName('mesh-users'), sync: true })
  const lab = await start({ registered: { ...registered, claimsIn }, ...more })
  const visit = await signInAs(lab, ALICE)
  expect(visit.me.userGroups).to.have.members(ALICE.groups.map(idp.groupName))
}

export const GROUPS = {
  groups_unasked: (bench) => requires(bench, unasked),
  groups_by_scope: (bench) => requires(bench, byScope),

  groups_required: async ({ idp, lab: start }) => {
    const lab = await start(groupsOf(idp, { required: ['no-such-group', idp.groupName('mesh-users')] }))
    await signInAs(lab, BOB)
    expectRefused(lab, await lab.signIn(CAROL), 'not_in_required_group', [/groups\.required/])
    // A known user who has left the group is refused as well.
    await idp.setPerson({ ...BOB, groups: [] })
    expectRefused(lab, await lab.signIn(BOB), 'not_in_required_group', [/groups\.required/])
  },

  groups_siteadmin: async ({ idp, lab: start }) => {
    const lab = await start(groupsOf(idp, { siteadmin: idp.groupName('mesh-admins') }))
    const [alice, bob] = [await lab.signIn(ALICE), await lab.signIn(BOB)]
    expect(alice.me, describeVisit(lab, alice.page)).to.include({ siteAdmin: true })
    expect(bob.me, describeVisit(lab, bob.page)).to.include({ siteAdmin: false })
    await idp.setPerson({ ...ALICE, groups: ['mesh-users'] })
    expect((await lab.signIn(ALICE)).me).to.include({ siteAdmin: false })
  },

  groups_sync: async ({ idp, lab: start }) => {
    const lab = await start(groupsOf(idp, { sync: true }))
    const visit = await lab.signIn(ALICE)
    expect(visit.me.userGroups, describeVisit(lab, visit.page)).to.have.members(ALICE.groups.map(idp.groupName))
    await idp.setPerson({ ...ALICE, groups: ['mesh-users'] })
    expect((await lab.signIn(ALICE)).me.userGroups).to.deep.equal([idp.groupName('mesh-users')])
    await idp.setPerson({ ...ALICE, groups: [] })
    expect((await lab.signIn(ALICE)).me.userGroups).to.deep.equal([])
  },

  userinfo_only: (bench) => sendsGroupsIn(bench, 'userinfo'),
  id_token_only: (bench) => sendsGroupsIn(bench, 'id_token'),
} satisfies Runs
