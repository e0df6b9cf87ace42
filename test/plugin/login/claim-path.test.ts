import { expect } from 'chai'
import { claimAt } from '../../../plugin/login/claim-path.ts'

describe('path to a claim', () => {
  it('a claim path finds members of nested objects, even if their names contain dots', () => {
    const claims = { realm_access: { roles: ['a'] }, resource_access: { 'mesh.example': { roles: ['b'] } } }
    expect(claimAt(claims, 'realm_access.roles')).to.deep.equal(['a'])
    expect(claimAt(claims, 'resource_access.mesh.example.roles')).to.deep.equal(['b'])
    for (const path of ['realm_access.role', 'realm_access.roles.1', 'realm_access.roles.length', 'x.roles', '.', '']) {
      expect(claimAt(claims, path), path).to.equal(undefined)
    }
  })

  // Shows: plugin 5.2.
  it('a claim path finds an array item by its number, and no other property of arrays', () => {
    const claims = {
      emails: ['a@b.c', 'd@e.f'],
      'emails.1': 'exact',
      teams: [{ name: 'ops' }],
      many: Array(101).fill('x'),
    }
    expect(claimAt(claims, 'emails.0')).to.equal('a@b.c')
    expect(claimAt(claims, 'emails.1')).to.equal('exact')
    expect(claimAt(claims, 'teams.0.name')).to.equal('ops')
    expect(claimAt(claims, 'many.7')).to.equal('x')
    expect(claimAt(claims, 'many.100')).to.equal('x')
    for (const path of [
      'emails.2',
      'emails.00',
      'emails.-1',
      'emails.1e0',
      'emails. 0',
      'emails.',
      'emails.length',
      'emails.at',
    ]) {
      expect(claimAt(claims, path), path).to.equal(undefined)
    }
  })

  it('for the path a.b, a claim named a.b is preferred to the member b of claim a', () => {
    const claims = { 'a.b': 'exact', a: { b: 'within' }, 'https://mesh.example/v1.2/groups': ['ops'] }
    expect(claimAt(claims, 'a.b')).to.equal('exact')
    expect(claimAt(claims, 'https://mesh.example/v1.2/groups')).to.deep.equal(['ops'])
    const mixed = { 'a.b': { x: 1 }, a: { b: { c: 'within' }, '': { d: 1 } } }
    expect(claimAt(mixed, 'a.b.c')).to.equal('within')
    expect(claimAt(mixed, 'a.d')).to.equal(undefined)
    const long = 'a.b.c.d.e.f.g.h.i.j'
    expect(claimAt({ [long]: 1 }, long)).to.equal(1)
    expect(claimAt({ a: { 'b.c.d.e.f.g.h': 1 } }, 'a.b.c.d.e.f.g.h')).to.equal(1)
    expect(claimAt({ a: { 'b.c.d.e.f.g.h.i': 1 } }, 'a.b.c.d.e.f.g.h.i')).to.equal(undefined)
  })

  it('a claim path finds no property that JavaScript objects inherit', () => {
    for (const path of ['__proto__', 'constructor', 'a.__proto__', 'a.constructor.name', 'toString.length', 'a.b.at']) {
      expect(claimAt({ a: { b: ['x'] } }, path), path).to.equal(undefined)
    }
    for (const a of [null, 'text', 7]) expect(claimAt({ a }, 'a.length'), String(a)).to.equal(undefined)
    expect(claimAt(JSON.parse('{"__proto__":{"groups":["own"]}}'), '__proto__.groups')).to.deep.equal(['own'])
  })
})
