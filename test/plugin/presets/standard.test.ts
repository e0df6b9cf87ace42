import { expect } from 'chai'
import { choosePreset } from '../../../plugin/presets/choose.ts'
import { standard } from '../../../plugin/presets/standard.ts'
import { MINIMAL, settingsOf } from '../config/one-domain.ts'
import { reasonOf, vendorAccess } from './vendor-fetch.ts'

const ask = (claims: Record<string, unknown>, groups: object = {}) =>
  standard.memberships({ claims, accessToken: null }, settingsOf({ ...MINIMAL, groups }))

describe('a provider without a preset', () => {
  it('is what is chosen where no preset is', () => {
    expect(choosePreset(null, {}, vendorAccess())).to.equal(standard)
  })

  it('brings groups in the claim groups, or in the configured one', async () => {
    expect(await ask({ groups: ['a'], roles: ['b'] })).to.deep.equal([{ name: 'a', aliases: [] }])
    expect(await ask({ groups: ['a'], roles: ['b'] }, { claim: 'roles' })).to.deep.equal([{ name: 'b', aliases: [] }])
    expect(await ask({})).to.deep.equal([])
  })

  it('does not bring groups in a claim that is only referred to, which is not the same as none', async () => {
    expect(await reasonOf(ask({ _claim_names: { groups: 'src1' } }))).to.match(/refers to another place$/)
    expect(await ask({ _claim_names: { address: 'src1' } })).to.deep.equal([])
    expect(await ask({ _claim_names: 'groups' })).to.deep.equal([])
  })
})
