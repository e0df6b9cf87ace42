import { expect } from 'chai'
import { acceptsGzip } from '../../../../sidecar/api/answers/answer.ts'

describe('Accept-Encoding', () => {
  for (const header of [
    'gzip',
    'deflate, gzip',
    'br;q=1.0, GZIP;q=0.8',
    'x-gzip',
    '*',
    'identity;q=0.5, gzip',
    '*;q=0, gzip',
  ]) {
    // Shows: sidecar C10.8.
    it(`Accept-Encoding "${header}" allows a gzip answer`, () => expect(acceptsGzip(header)).to.equal(true))
  }

  for (const header of [
    undefined,
    '',
    'br',
    'gzip;q=0',
    'gzip; q=0.000',
    '*;q=0',
    'gzip;q=0, *',
    'identity, gzip;q=0.5',
    'gzip;q=x',
    'notgzip',
  ]) {
    // Shows: sidecar C10.8.
    it(`Accept-Encoding "${header}" rules out a gzip answer`, () => expect(acceptsGzip(header)).to.equal(false))
  }
})
