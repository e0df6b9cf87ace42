import { expect } from 'chai'
import { LoginError } from '../../../plugin/errors.ts'
import type { LogFields } from '../../../plugin/log.ts'
import { watchDiscovery } from '../../../plugin/mount/status/discovery-watch.ts'
import { MINIMAL, settingsOf } from '../config/one-domain.ts'

const ISSUER = settingsOf(MINIMAL).issuer.issuer

function opened() {
  const lines: [level: string, event: string, msg: string, fields: LogFields][] = []
  const at =
    (level: string) =>
    (event: string, msg: string, fields: LogFields = {}) => {
      lines.push([level, event, msg, fields])
    }
  const log = { info: at('info'), warn: at('warn'), error: at('error') }
  return { lines, ...watchDiscovery(settingsOf(MINIMAL), log, () => 0) }
}
const away = new LoginError('discovery_failed', {
  cause: Object.assign(new Error('no route'), { code: 'EHOSTUNREACH' }),
  details: { address: `${ISSUER}/x`, status: 503 },
  remedy: 'Mend it.',
})

describe('the log lines of discovery', () => {
  it('tell of each failed attempt, with address, status, cause and remedy', () => {
    const { lines, onFailure } = opened()
    for (const begins of [true, false]) onFailure(away, { begins, byHand: false })
    expect(lines.map(([level, event]) => [level, event])).to.deep.equal(Array(2).fill(['error', 'discovery-failed']))
    expect(lines[0]?.[2]).to.equal('OIDC: Discovery failed. EHOSTUNREACH')
    expect(lines[0]?.[3]).to.include({ issuer: ISSUER, address: `${ISSUER}/x`, status: 503, remedy: 'Mend it.' })
  })

  it('are one warning an outage where all endpoints are given by hand, and an info when it is over', () => {
    const { lines, onFailure, onDiscovered } = opened()
    for (const begins of [true, false, false]) onFailure(away, { begins, byHand: true })
    onDiscovered({ issuer: ISSUER })
    expect(lines.map(([level, event]) => `${level} ${event}`)).to.deep.equal([
      'warn discovery-failed',
      'info discovered',
    ])
  })

  it('warn of each thing that a list of the IdP does not have, and name the member', () => {
    const { lines, onDiscovered } = opened()
    onDiscovered({ issuer: ISSUER, id_token_signing_alg_values_supported: ['ES256'] })
    const [, , message, fields] = lines[1] ?? []
    expect(lines.map(([level, event]) => `${level} ${event}`)).to.deep.equal(['info discovered', 'warn not-published'])
    expect(message).to.match(
      /id_token_signing_alg_values_supported lacks RS256 \(client\.id_token_signed_response_alg\)/,
    )
    expect(fields).to.deep.include({ configured: 'RS256', published: ['ES256'] })
  })
})
