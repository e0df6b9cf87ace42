import { expect } from 'chai'
import fc from 'fast-check'
import { basicCredentials } from '../../../../plugin/provider/authentication/client-options.ts'

/** Returns both halves of the credentials as sent, undecoded. */
function sentHalves(header: string): readonly [string, string] {
  const [scheme, encoded = ''] = header.split(' ')
  expect(scheme).to.equal('Basic')
  const text = Buffer.from(encoded, 'base64').toString('latin1')
  const colon = text.indexOf(':')
  return [text.slice(0, colon), text.slice(colon + 1)]
}

/** Decodes as RFC 6749, section 2.3.1, requires: as a form. */
const decodeForm = (sent: string) => new URLSearchParams(`value=${sent}`).get('value')

describe('client id and secret as Basic credentials', () => {
  const texts = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 })

  // Shows: plugin 4.2.
  it('form decoding and percent decoding of Basic credentials give the same values', () => {
    fc.assert(
      fc.property(texts, texts, (id, secret) => {
        const [sentId, sentSecret] = sentHalves(basicCredentials(id, secret))
        expect(decodeForm(sentId)).to.equal(id)
        expect(decodeForm(sentSecret)).to.equal(secret)
        expect(decodeURIComponent(sentId)).to.equal(id)
        expect(decodeURIComponent(sentSecret)).to.equal(secret)
      }),
    )
  })

  it('Basic credentials contain only unreserved characters and percent-encodings', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (secret) => {
        expect(sentHalves(basicCredentials('mesh', secret))[1]).to.match(/^(?:[A-Za-z0-9\-._~]|%[0-9A-F]{2})*$/)
      }),
    )
  })

  // Shows: plugin 4.2.
  it('Basic credentials leave unreserved characters unencoded, as some IdPs need', () => {
    const secret = '0f8fad5b-d9cb-469f-a165-70867728950e._~AZ'
    expect(sentHalves(basicCredentials('my-client', secret))).to.deep.equal(['my-client', secret])
    expect(sentHalves(basicCredentials('a:b', "p+q r!*'()/=&é"))).to.deep.equal([
      'a%3Ab',
      'p%2Bq%20r%21%2A%27%28%29%2F%3D%26%C3%A9',
    ])
  })
})
