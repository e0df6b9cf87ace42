import { expect } from 'chai'
import { holdingsOf, suggestMoves } from '../../../../plugin/meshcentral/moves/holdings.ts'
import type { MeshUser } from '../../../../plugin/meshcentral/server.ts'

const user = (id: string, more: Partial<MeshUser> = {}): MeshUser => ({
  type: 'user',
  _id: id,
  name: id,
  domain: '',
  creation: 0,
  login: 0,
  access: 0,
  ...more,
})
const users = (...all: readonly MeshUser[]) => Object.fromEntries(all.map((account) => [account._id, account]))

describe('devices, groups and rights of a MeshCentral account', () => {
  it('the page for moving accounts omits mirrored groups and deleted groups', () => {
    const links = {
      'mesh//a': { rights: 5 },
      'mesh//gone': { rights: 5 },
      'ugrp//ours': { rights: 1 },
      'ugrp//own': { rights: 1 },
    }
    const group = { type: 'ugrp', domain: '' } as const
    const web = {
      meshes: { 'mesh//a': { _id: 'mesh//a', name: 'A' } },
      userGroups: {
        'ugrp//ours': { ...group, _id: 'ugrp//ours', name: 'Staff', membershipType: 'oidc' },
        'ugrp//own': { ...group, _id: 'ugrp//own', name: 'Helpers' },
      },
    }
    const { deviceGroups, userGroups } = holdingsOf(web, user('user//tom', { links }))
    expect(deviceGroups).to.deep.equal([{ id: 'mesh//a', name: 'A', rights: 5 }])
    expect(userGroups).to.deep.equal([{ id: 'ugrp//own', name: 'Helpers' }])
  })

  it('the page for moving accounts omits server rights that come from IdP groups', () => {
    const { siteRights } = holdingsOf({ userGroups: {} }, user('user//tom', { siteadmin: 0x203, oidcrights: 0x200 }))
    expect(siteRights).to.equal(3)
  })
})

describe('suggestions for moving accounts', () => {
  const email = 'Tom@example.test'
  const tom = user('user//tom', { email, emailVerified: true, siteadmin: 2 })
  const sso = user('user//~oidc:1', { email: 'tom@example.test', emailVerified: true })
  const suggested = (...all: readonly MeshUser[]) => suggestMoves({ users: users(...all), userGroups: {} }, '')

  it('suggests moving an old account to a new account with the same verified address', () => {
    const elsewhere = { ...user('user/other/~oidc:2', { email, emailVerified: true }), domain: 'other' }
    expect(suggested(tom, sso, elsewhere)).to.deep.equal([{ from: 'user//tom', to: 'user//~oidc:1' }])
  })

  // Shows: plugin 6.19.
  it('suggests no move between accounts if the address is unverified or ambiguous', () => {
    expect(suggested({ ...tom, emailVerified: false }, sso)).to.deep.equal([])
    const twin = user('user//~oidc:2', { email, emailVerified: true })
    expect(suggested(tom, sso, twin)).to.deep.equal([])
  })

  it('suggests no move of an account without rights, and at most 20 moves in all', () => {
    const { siteadmin: _, ...moved } = tom
    expect(suggested(moved, sso)).to.deep.equal([])
    expect(suggested({ ...moved, siteadmin: 32 }, sso)).to.deep.equal([])
    const pairs = Array.from({ length: 30 }, (_value, index) => {
      const same = { email: `${index}@example.test`, emailVerified: true }
      const old = user(`user//u${index}`, index < 5 ? same : { ...same, siteadmin: 2 })
      return [old, user(`user//~oidc:${index}`, same)]
    })
    const suggestions = suggested(...pairs.flat())
    expect(suggestions).to.have.length(20)
    expect(suggestions[0]).to.deep.equal({ from: 'user//u5', to: 'user//~oidc:5' })
  })
})
