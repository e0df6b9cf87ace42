import { expect } from 'chai'
import { settingsFrom } from '../../../sidecar/index.ts'
import { pure } from '../target.ts'

const SAMPLES = [
  { aprsis: { callsign: 'N0CALL-10', passcode: 13023 } },
  {
    listen: { host: '::', port: 443, certFile: 'a.pem', keyFile: 'b.pem', trustProxy: ['10.0.0.0/8', '::1'] },
    aprsis: { callsign: 'N0CALL', maxConnections: 4, trackOutgoing: true },
    database: ':memory:',
    push: { coalesceMs: 0, fcm: { endpoint: 'https://127.0.0.1:1' }, webpush: { subject: 'mailto:a@b.org' } },
    stations: { max: 5, expireAfterHours: 0.5 },
    log: { level: 'debug' },
  },
].map((config) => JSON.stringify(config))

/** The configuration file: it yields settings, or problems that each have a path, a reason and a remedy. */
export const configuration = pure('configuration', SAMPLES, (input) => {
  const outcome = settingsFrom(input.toString(), '/nowhere')
  if ('settings' in outcome) {
    expect(outcome.settings.aprsis.callsign).to.match(/^[A-Z0-9]+(-[A-Z0-9]{1,2})?$/)
    return
  }
  expect(outcome.problems).to.have.length.above(0)
  for (const { path, reason, remedy } of outcome.problems) {
    expect(path).to.not.equal('')
    expect(reason).to.not.equal('')
    expect(remedy).to.match(/[.?]$/)
  }
})
