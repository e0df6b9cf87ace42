import { expect } from 'chai'
import fc from 'fast-check'
import { localReturnPath } from '../../../plugin/routes/login/initiation.ts'
import { propertyRuns } from '../../support/property-runs.ts'

const ownPaths = new Set(['/auth-oidc', '/logout', '/login'])

describe('return path after a login', () => {
  // Shows: meshcentral 18.
  it('accepts a local path with query and fragment as return path', () => {
    expect(localReturnPath('/devices/7?tab=files&x=%2F#top', ownPaths)).to.equal('/devices/7?tab=files&x=%2F#top')
    expect(localReturnPath('/', ownPaths)).to.equal('/')
  })

  const starts = ['https://', '//', '/\\', '/\t/', '/\n/', '\t//', '/.//', '/x/..//', '/%2e//', '/\u0000/', '/\u00a0/']
  for (const hostile of [...starts.map((start) => `${start}evil.test`), 'javascript:alert(1)', 'evil.test', '?x', '']) {
    it(`ignores the return path ${JSON.stringify(hostile)}`, () => {
      expect(localReturnPath(hostile, ownPaths)).to.equal(undefined)
    })
  }

  it('ignores a return path parameter that is missing, repeated or nested', () => {
    for (const value of [undefined, null, ['/a', '/b'], { a: '/b' }, 7]) {
      expect(localReturnPath(value, ownPaths)).to.equal(undefined)
    }
  })

  it("ignores a return path that resolves to one of the plugin's own routes", () => {
    for (const path of ['/LogOut', '/logout/', '/./logout', '/x/../logout?y', '/auth-oidc?return=/', '/login#x']) {
      expect(localReturnPath(path, ownPaths)).to.equal(undefined)
    }
  })

  it('ignores a return path that is too long for a cookie after encoding', () => {
    expect(localReturnPath(`/${'a'.repeat(511)}`, ownPaths)).to.be.a('string')
    expect(localReturnPath(`/${'a'.repeat(512)}`, ownPaths)).to.equal(undefined)
    expect(localReturnPath(`/${'ä'.repeat(200)}`, ownPaths)).to.equal(undefined)
  })

  // Shows: plugin 10.13.
  // Shows: meshcentral 18.
  it('no return path leads a browser to another host', () => {
    const piece = fc.constantFrom('/', '\\', '.', '..', '%2e', '%2f', '%5c', '\t', '\n', ' ', ':', '@', 'evil.test')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const path = localReturnPath(pieces.join(''), ownPaths)
        if (path !== undefined) {
          expect(new URL(path, 'https://host.test/login').origin).to.equal('https://host.test')
          expect(path).to.match(/^\/(?![/\\])/)
        }
      }),
      { numRuns: propertyRuns(200) },
    )
  })
})
