import { expect } from 'chai'
import type { LabOptions } from '../support/lab.ts'
import { ALICE, BOB, CAROL } from '../support/people.ts'
import type { RealIdp } from '../support/real-idp.ts'
import { expectNoComplaint, expectRefused, signsIn } from './expectations.ts'
import type { Bench, Runs } from './run.ts'

/** Whichever way this provider tells groups. */
function groupsOf(idp: RealIdp, rules: Record<string, unknown>): LabOptions {
  return idp.cannot.groups_by_scope === undefined ? byScope(rules) : unasked(rules)
}
const byScope = (rules: Record<string, unknown>): LabOptions => ({ registered: { groups: 'by_scope' }, groups: rules })
const unasked = (rules: Record<string, unknown>): LabOptions => ({
  registered: { groups: 'unasked' },
  groups: { scope: '', ...rules },
})

async function requires({ idp, lab: start }: Bench, way: typeof byScope): Promise<void> {
  const lab = await start(way({ required: idp.groupName('mesh-admins') }))
  const visit = await signsIn(lab, ALICE)
  expectNoComplaint(lab, visit.page)
  expectRefused(lab, await lab.signIn(BOB), 'not_in_required_group', [/groups\.required/])
}

async function toldIn(bench: Bench, claimsIn: 'id_token' | 'userinfo'): Promise<void> {
  const { idp, lab: start } = bench
  const { registered, ...more } = groupsOf(idp, { required: idp.groupName('mesh-users'), sync: true })
  const lab = await start({ registered: { ...registered, claimsIn }, ...more })
  const visit = await signsIn(lab, ALICE)
  expect(visit.who.userGroups).to.have.members(ALICE.groups.map(idp.groupName))
}

export const GROUPS = {
  groups_unasked: (bench) => requires(bench, unasked),
  groups_by_scope: (bench) => requires(bench, byScope),

  groups_rules: async ({ idp, lab: start }) => {
    const [users, admins] = ['mesh-users', 'mesh-admins'].map((name) => idp.groupName(name))
    const lab = await start(groupsOf(idp, { required: ['no-such-group', users], siteadmin: admins, sync: true }))
    const [alice, bob] = [await signsIn(lab, ALICE), await signsIn(lab, BOB)]
    expect(alice.who).to.include({ siteAdmin: true })
    expect(alice.who.userGroups).to.have.members([users, admins])
    expect(bob.who).to.include({ siteAdmin: false })
    expectRefused(lab, await lab.signIn(CAROL), 'not_in_required_group', [/groups\.required/])
    // Who has left a group is known here, and without what came with it all the same.
    await idp.setPerson({ ...ALICE, groups: ['mesh-users'] })
    expect((await signsIn(lab, ALICE)).who).to.deep.include({ siteAdmin: false, userGroups: [users] })
    await idp.setPerson({ ...BOB, groups: [] })
    expectRefused(lab, await lab.signIn(BOB), 'not_in_required_group', [/groups\.required/])
  },

  userinfo_only: (bench) => toldIn(bench, 'userinfo'),
  id_token_only: (bench) => toldIn(bench, 'id_token'),
} satisfies Runs
