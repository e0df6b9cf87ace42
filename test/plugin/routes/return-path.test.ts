import { expect } from 'chai'
import fc from 'fast-check'
import { localReturnPath } from '../../../plugin/routes/login/initiation.ts'
import { propertyRuns } from '../../support/property-runs.ts'

const own = new Set(['/auth-oidc', '/logout', '/login'])

describe('return path', () => {
  // Shows: meshcentral 18.
  it('takes a local path with its query and fragment', () => {
    expect(localReturnPath('/devices/7?tab=files&x=%2F#top', own)).to.equal('/devices/7?tab=files&x=%2F#top')
    expect(localReturnPath('/', own)).to.equal('/')
  })

  const starts = ['https://', '//', '/\\', '/\t/', '/\n/', '\t//', '/.//', '/x/..//', '/%2e//', '/\u0000/', '/\u00a0/']
  for (const hostile of [...starts.map((start) => `${start}evil.test`), 'javascript:alert(1)', 'evil.test', '?x', '']) {
    it(`ignores ${JSON.stringify(hostile)}`, () => {
      expect(localReturnPath(hostile, own)).to.equal(undefined)
    })
  }

  it('ignores what is no single text: missing, repeated or nested parameters', () => {
    for (const value of [undefined, null, ['/a', '/b'], { a: '/b' }, 7]) {
      expect(localReturnPath(value, own)).to.equal(undefined)
    }
  })

  it('ignores the routes of the login itself, however they are spelled', () => {
    for (const path of ['/LogOut', '/logout/', '/./logout', '/x/../logout?y', '/auth-oidc?return=/', '/login#x']) {
      expect(localReturnPath(path, own)).to.equal(undefined)
    }
  })

  it('ignores a path that is too long for a cookie, counted after encoding', () => {
    expect(localReturnPath(`/${'a'.repeat(511)}`, own)).to.be.a('string')
    expect(localReturnPath(`/${'a'.repeat(512)}`, own)).to.equal(undefined)
    expect(localReturnPath(`/${'ä'.repeat(200)}`, own)).to.equal(undefined)
  })

  // Shows: plugin 10.13.
  // Shows: meshcentral 18.
  it('never yields an address that a browser takes to another host', () => {
    const piece = fc.constantFrom('/', '\\', '.', '..', '%2e', '%2f', '%5c', '\t', '\n', ' ', ':', '@', 'evil.test')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const path = localReturnPath(pieces.join(''), own)
        if (path !== undefined) {
          expect(new URL(path, 'https://host.test/login').origin).to.equal('https://host.test')
          expect(path).to.match(/^\/(?![/\\])/)
        }
      }),
      { numRuns: propertyRuns(200) },
    )
  })
})
