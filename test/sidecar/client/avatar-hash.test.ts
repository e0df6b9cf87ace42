import { createHash } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { avatarHash as hashOfServer } from '../../../sidecar/api/requests/avatar.ts'
import { avatarHash } from '../../../sidecar/client/index.ts'
import { sha256 } from '../../../sidecar/client/sha-256.ts'

describe("the client's hash of an avatar", () => {
  it('equals the hash of the server for any icon and image', () => {
    const text = fc.string({ unit: 'binary', maxLength: 80 })
    fc.assert(fc.property(text, text, (icon, image) => avatarHash({ icon, image }) === hashOfServer(icon, image)))
  })

  it('is SHA-256 for texts of up to three blocks and for the largest image', () => {
    for (const length of [...Array(200).keys(), 24_000]) {
      const text = 'x'.repeat(length)
      expect(sha256(text), String(length)).to.equal(createHash('sha256').update(text).digest('hex'))
    }
  })
})
