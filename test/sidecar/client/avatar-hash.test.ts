import { createHash } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { avatarHash as hashOfServer } from '../../../sidecar/api/requests/avatar.ts'
import { avatarHash } from '../../../sidecar/client/index.ts'
import { sha256 } from '../../../sidecar/client/sha-256.ts'

describe('The avatar hash of the client', () => {
  it("the client's avatar hash equals the server's for any icon and image", () => {
    const text = fc.string({ unit: 'binary', maxLength: 80 })
    fc.assert(fc.property(text, text, (icon, image) => avatarHash({ icon, image }) === hashOfServer(icon, image)))
  })

  it("the client's SHA-256 is right for 0 to 199 bytes and for the largest image", () => {
    for (const length of [...Array(200).keys(), 24_000]) {
      const text = 'x'.repeat(length)
      expect(sha256(text), String(length)).to.equal(createHash('sha256').update(text).digest('hex'))
    }
  })
})
