import { createECDH } from 'node:crypto'
import { expect } from 'chai'
import { pngFile } from '../../support/png-file.ts'
import { claim, registration, startApi } from '../../support/running-api.ts'
import type { Target } from '../target.ts'

const keys = { p256dh: createECDH('prime256v1').generateKeys('base64url'), auth: 'MDEyMzQ1Njc4OWFiY2RlZg' }
const pushToken = JSON.stringify({ endpoint: 'https://push.example.org/x', keys })
const avatar = { avatarUpdate: true, avatarIcon: 'dog', avatarImage: pngFile().toString('base64') }
const SAMPLES: readonly (readonly [string, object])[] = [
  ['register', registration('N0CALL', { wantHistory: true, since: 0, ...avatar })],
  ['register', registration('N1CALL', { platform: 'ios', pushToken: 'ab'.repeat(32) })],
  ['register', registration('N2CALL', { platform: 'webpush', pushToken })],
  ['sync', { ...claim('N0CALL'), since: 1 }],
  ['avatars', { ...claim('N0CALL'), stations: ['N0CALL-7', 'N1CALL-7'] }],
  ['unregister', claim('N1CALL')],
]

/** Bodies of calls, each behind the call's name and a line feed: every one is answered in JSON, none with a fault of ours. */
export const apiBodies: Target = {
  name: 'api-bodies',
  samples: SAMPLES.map(([call, body]) => Buffer.from(`${call}\n${JSON.stringify(body)}`)),
  async open() {
    const limits = { max: 1_000_000_000, newStationsPerHour: 1_000_000_000 }
    const api = await startApi({ maxStations: 1000, rateLimit: limits })
    return {
      async check(input) {
        const end = input.indexOf('\n')
        const call = end < 0 ? '' : input.toString('latin1', 0, end)
        const path = /^\w+$/.test(call) ? call : 'register'
        const { status, body } = await api.post(`/v1/${path}`, input.subarray(end + 1))
        expect(status, JSON.stringify(body)).to.be.oneOf([200, 400, 403, 404, 413, 503])
        if (status === 200) expect(body).to.have.property('serverTime').that.is.a('number')
        else expect(body).to.include.keys('error', 'message')
        expect(api.logged.filter(({ level }) => level === 'error')).to.deep.equal([])
      },
      close: api.close,
    }
  },
}
