import { expect } from 'chai'
import {
  isSignedMode,
  mayComeByPost,
  mayComeInFragment,
  responseModeOf,
} from '../../../../plugin/provider/authorization/response-mode.ts'

const idp = (modes?: unknown) => ({ issuer: 'https://idp.test', response_modes_supported: modes as string[] })

describe('response mode of a login', () => {
  const TABLE = [
    ['code', undefined, ['fragment'], undefined],
    ['code', 'fragment', undefined, 'fragment'],
    ['id_token', undefined, undefined, 'form_post'],
    ['id_token', undefined, ['query', 'fragment'], 'fragment'],
    ['code id_token', undefined, ['query', 'form_post'], 'form_post'],
    ['code id_token', undefined, 'form_post', 'form_post'],
    ['code id_token', 'form_post', ['fragment'], 'form_post'],
    ['code', 'jwt', ['query'], 'jwt'],
  ] as const
  for (const [type, mode, published, expected] of TABLE) {
    const situation = `${mode ?? 'none'} configured, ${published === undefined ? 'nothing' : String(published)} published`
    // Shows: plugin 4.24.
    it(`requests ${expected ?? 'no response_mode'} for ${type} with ${situation}`, () => {
      const client = { response_types: [type] as const, ...(mode === undefined ? {} : { response_mode: mode }) }
      expect(responseModeOf(client, idp(published))).to.equal(expected)
    })
  }

  it("response type and mode decide if a login's answer may use POST or the fragment", () => {
    for (const [type, mode, byPost, inFragment] of [
      ['code', undefined, false, false],
      ['code', 'jwt', false, false],
      ['code', 'fragment', false, true],
      ['code', 'form_post', true, false],
      ['code', 'form_post.jwt', true, false],
      ['id_token', undefined, true, true],
      ['id_token', 'jwt', false, true],
    ] as const) {
      const client = { response_types: [type] as const, ...(mode === undefined ? {} : { response_mode: mode }) }
      expect(mayComeByPost(client)).to.equal(byPost)
      expect(mayComeInFragment(client)).to.equal(inFragment)
    }
  })

  it('only response modes that contain jwt return signed answers', () => {
    expect((['jwt', 'query.jwt', 'form_post.jwt', 'fragment.jwt'] as const).every(isSignedMode)).to.equal(true)
    expect(([undefined, 'query', 'form_post', 'fragment'] as const).some(isSignedMode)).to.equal(false)
  })
})
