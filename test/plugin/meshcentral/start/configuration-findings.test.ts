import { expect } from 'chai'
import type { Warning } from '../../../../plugin/config/problem.ts'
import type { DomainReading } from '../../../../plugin/config/read.ts'
import { logServerReading, warnOfConfiguration } from '../../../../plugin/meshcentral/start/configuration-findings.ts'
import { meshcompanion } from '../../../../plugin/meshcentral.ts'
import { standIn } from '../stand-in.ts'

const warningAt = (path: string): Warning => ({ code: 'misplaced', path, reason: 'is ignored', remedy: 'Move it.' })
const NOTHING = { problems: [], warnings: [] }
const domainWith = (warnings: readonly Warning[]): DomainReading => ({
  key: '',
  title: null,
  settings: null,
  problems: [{ path: 'a', reason: 'is missing', remedy: 'Write it.' }],
  warnings,
})

describe('configuration warnings in MeshCentral', () => {
  // Shows: plugin 9.40.
  it('MeshCentral shows mistakes in server and domain settings with path and remedy', () => {
    const { server, log } = standIn()
    warnOfConfiguration(server, { ...NOTHING, warnings: [warningAt('settings.x')] }, [domainWith([warningAt('b')])])
    expect(log).to.deep.equal([
      'warning: Single sign-on: settings.x is ignored. Move it.',
      'warning: Single sign-on: a is missing. Write it.',
      'warning: Single sign-on: b is ignored. Move it.',
    ])
  })

  it('MeshCentral shows twenty configuration warnings, and the number of the rest', () => {
    const { server, log } = standIn()
    warnOfConfiguration(server, NOTHING, [domainWith(Array.from({ length: 30 }, (_, index) => warningAt(`m${index}`)))])
    expect(log).to.have.length(21)
    expect(log.at(-1)).to.match(/^warning: Single sign-on: The configuration has 11 more problems\./)
  })

  // Shows: plugin 9.40.
  it("configuration warnings are escaped, because MeshCentral's page does not escape", () => {
    const { server, log } = standIn()
    warnOfConfiguration(server, NOTHING, [domainWith([warningAt('<img src=x>&')])])
    expect(log[1]).to.equal('warning: Single sign-on: &#60;img src=x&#62;&#38; is ignored. Move it.')
  })

  it('warns of a misspelt strategy even if no domain has single sign-on', () => {
    const { server, web, log } = standIn({ domains: { '': { authstrategies: { oicd: {} } } } })
    meshcompanion({ parent: server }).hook_setupHttpHandlers(web, server)
    expect(log.join('\n')).to.match(/^OIDC: ERROR configuration-error: domains\[""\]\.authStrategies\.oicd /m)
    expect(log.join('\n')).to.match(/^warning: Single sign-on: domains\[""\]\.authStrategies\.oicd .* Write "oidc"/m)
  })

  it('logs each configuration warning with its code in the authentication log', () => {
    const { server, log } = standIn()
    logServerReading(server, { ...NOTHING, warnings: [warningAt('settings.x')] })
    expect(log).to.deep.equal([
      'OIDC: WARN configuration-warning: settings.x is ignored. Move it. {"path":"settings.x","code":"misplaced"}',
    ])
  })
})
