import { expect } from 'chai'
import { LoginError } from '../../../plugin/errors.ts'
import type { LogFields } from '../../../plugin/log.ts'
import { watchDiscovery } from '../../../plugin/mount/status/discovery-watch.ts'
import { MINIMAL, settingsOf } from '../config/single-domain.ts'

const ISSUER = settingsOf(MINIMAL).issuer.issuer

function opened(now = () => 0) {
  const lines: [level: string, event: string, msg: string, fields: LogFields][] = []
  const logAt =
    (level: string) =>
    (event: string, msg: string, fields: LogFields = {}) => {
      lines.push([level, event, msg, fields])
    }
  const log = { info: logAt('info'), warn: logAt('warn'), error: logAt('error') }
  return { lines, ...watchDiscovery(settingsOf(MINIMAL), log, now) }
}
const away = new LoginError('discovery_failed', {
  cause: Object.assign(new Error('no route'), { code: 'EHOSTUNREACH' }),
  details: { address: `${ISSUER}/x`, status: 503 },
  remedy: 'Mend it.',
})

describe('log lines of discovery', () => {
  it('logs each failed discovery with address, status, cause and remedy', () => {
    const { lines, onFailure } = opened()
    for (const begins of [true, false]) onFailure(away, { begins, byHand: false })
    expect(lines.map(([level, event]) => [level, event])).to.deep.equal(Array(2).fill(['error', 'discovery-failed']))
    expect(lines[0]?.[2]).to.equal('OIDC: Discovery failed. EHOSTUNREACH')
    expect(lines[0]?.[3]).to.include({ issuer: ISSUER, address: `${ISSUER}/x`, status: 503, remedy: 'Mend it.' })
  })

  // Shows: plugin 10.28.
  it('logs at most 10 failed discoveries a second, and counts the omitted ones', () => {
    let now = 0
    const { lines, onFailure } = opened(() => now)
    for (let attempt = 0; attempt < 500; attempt += 1) onFailure(away, { begins: attempt === 0, byHand: false })
    expect(lines).to.have.length(10)
    now = 1_000
    onFailure(away, { begins: false, byHand: false })
    expect(lines.at(-1)?.[3].leftOut).to.equal(490)
  })

  it('logs a failed discovery once per outage if all endpoints are configured', () => {
    const { lines, onFailure, onDiscovered } = opened()
    for (const begins of [true, false, false]) onFailure(away, { begins, byHand: true })
    onDiscovered({ issuer: ISSUER })
    expect(lines.map(([level, event]) => `${level} ${event}`)).to.deep.equal([
      'warn discovery-failed',
      'info discovered',
    ])
  })

  it("warns of each configured value that is missing from the IdP's published lists", () => {
    const { lines, onDiscovered } = opened()
    onDiscovered({ issuer: ISSUER, id_token_signing_alg_values_supported: ['ES256'] })
    const [, , message, fields] = lines[1] ?? []
    expect(lines.map(([level, event]) => `${level} ${event}`)).to.deep.equal(['info discovered', 'warn not-published'])
    expect(message).to.match(
      /id_token_signing_alg_values_supported lacks RS256 \(client\.id_token_signed_response_alg\)/,
    )
    expect(fields).to.deep.include({ configured: 'RS256', published: ['ES256'] })
  })

  it('the warning about a missing PKCE method asks to change no setting', () => {
    const { lines, onDiscovered } = opened()
    onDiscovered({ issuer: ISSUER, code_challenge_methods_supported: ['plain'] })
    expect(lines[1]?.[2]).to.match(/\(PKCE\), so logins may fail\. Allow S256 at the IdP\.$/)
  })
})
