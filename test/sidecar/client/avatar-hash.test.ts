import { createHash } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { avatarHash as hashOfServer } from '../../../sidecar/api/requests/avatar.ts'
import { avatarHash } from '../../../sidecar/client/index.ts'
import { sha256 } from '../../../sidecar/client/sha-256.ts'

describe("the client's hash of an avatar", () => {
  it('is that of the server, whatever icon and image are', () => {
    const text = fc.string({ unit: 'binary', maxLength: 80 })
    fc.assert(fc.property(text, text, (icon, image) => avatarHash({ icon, image }) === hashOfServer(icon, image)))
  })

  it('is SHA-256 for texts of every length up to three blocks, and of the largest image', () => {
    for (const length of [...Array(200).keys(), 24_000]) {
      const text = 'x'.repeat(length)
      expect(sha256(text), String(length)).to.equal(createHash('sha256').update(text).digest('hex'))
    }
  })
})
