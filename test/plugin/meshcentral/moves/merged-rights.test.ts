import { expect } from 'chai'
import fc from 'fast-check'
import { mergeDeviceRights, mergeSiteRights, siteLimits } from '../../../../plugin/meshcentral/moves/merged-rights.ts'

const ALL = 0xffffffff
const CONTROL = 0x8
const VIEW_ONLY = 0x100
const mask = fc.oneof(fc.constant(ALL), fc.nat(0xfffff))
/** Whether a mask lets its owner control a desktop: MeshCentral lets view-only limit it. */
const controls = (rights: number) => rights === ALL || ((rights & CONTROL) !== 0 && (rights & VIEW_ONLY) === 0)

describe('merged rights of two accounts', () => {
  it('merged rights permit what either account may do; full rights stay full', () => {
    expect(mergeDeviceRights(0x4, 0x40)).to.equal(0x44)
    expect(mergeDeviceRights(ALL, 0x8)).to.equal(ALL)
    expect(mergeDeviceRights(0x48, undefined)).to.equal(0x48)
  })

  // Shows: plugin 6.18.
  it('merged rights permit desktop control only if one of the accounts had it', () => {
    fc.assert(
      fc.property(mask, mask, (first, second) => {
        const merged = mergeDeviceRights(first, second)
        expect(controls(merged)).to.equal(controls(first) || controls(second))
      }),
    )
  })

  it('merging rights in any order has the same result; merging again changes nothing', () => {
    fc.assert(
      fc.property(mask, mask, (first, second) => {
        const merged = mergeDeviceRights(first, second)
        expect(mergeDeviceRights(second, first)).to.equal(merged)
        expect(mergeDeviceRights(first, merged)).to.equal(merged)
      }),
    )
  })

  it('merged server rights include neither a lock nor limits of the old account', () => {
    expect(mergeSiteRights(0x22, undefined)).to.equal(0x2)
    expect(siteLimits(0x62)).to.equal(0x60)
    expect(mergeSiteRights(ALL, 0x40)).to.equal(ALL)
    expect(siteLimits(ALL)).to.equal(0)
  })
})
