import { expect } from 'chai'
import { decideAvatar } from '../../../sidecar/api/requests/avatar.ts'
import { pngFault } from '../../../sidecar/api/requests/png.ts'
import { pngFile } from '../../support/png-file.ts'
import { pngOfLength } from '../../support/png-of-length.ts'
import { pure } from '../target.ts'

const SAMPLES = [pngFile(), Buffer.from(pngOfLength(1000), 'base64')]

/** Images that other stations' phones will show. */
export const avatars = pure('avatars', SAMPLES, (input) => {
  const fault = pngFault(input)
  const decision = decideAvatar({ avatarUpdate: true, avatarImage: input.toString('base64') })
  if (fault === undefined && input.length <= 18_000) expect(decision.kind).to.equal('replace')
  if (fault !== undefined && input.length > 0) expect(decision.kind).to.equal('invalid')
})
