import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { LOGIN_ERRORS, MESSAGES } from '../../../plugin/errors.ts'
import { PRESETS } from '../../../plugin/presets/presets.ts'
import { routePaths } from '../../../plugin/routes/strategy.ts'
import { inCode, readDocument, section, tableRows } from '../../support/documents.ts'

const PAGE = readDocument('plugin/docs/your-own-server.md')

/** Returns the member names of an interface from its source. */
function membersOf(file: string, name: string): readonly string[] {
  const text = readFileSync(new URL(`../../../plugin/${file}`, import.meta.url), 'utf8')
  const [, body = ''] = new RegExp(`^export interface ${name} .*\\{\\n([\\s\\S]*?)^\\}$`, 'm').exec(text) ?? []
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map(([, member = '']) => member)
}

describe('documentation page on using the plugin in an Express server', () => {
  it('the documentation page on Express servers lists exactly the routes of a domain', () => {
    const { all, login } = routePaths(
      '/',
      undefined,
      PRESETS.map(({ name }) => name),
    )
    const rows = tableRows(section(PAGE, '## Routes'))
    const words = rows.flatMap((row) => row.flatMap(inCode)).map((code) => code.replace(/^(GET|POST) /, ''))
    const named = words.filter((word) => /^(auth-oidc[a-z-]*|logout)$/.test(word))
    expect(new Set(named.map((word) => `/${word}`))).to.deep.equal(new Set([...all].filter((path) => path !== login)))
  })

  it('the documentation page on Express servers lists all options and host members', () => {
    const [options, host] = [membersOf('mount/mount-oidc.ts', 'MountOptions'), membersOf('host/port.ts', 'Host')]
    expect(options.length).to.be.above(8)
    expect(host.length).to.be.above(8)
    const documented = tableRows(section(PAGE, '## Options of `registerOidc`')).flatMap(([names = '']) => inCode(names))
    const publicOptions = options.filter((name) => name !== 'clock')
    expect(documented).to.have.members([...publicOptions, ...host])
  })
  it('the page on Express servers lists all reasons for each code of a failed login', () => {
    const rows = tableRows(section(PAGE, '## What a failed login shows'))
    const reasonsOf = new Map(rows.map(([code = '', reasons = '']) => [inCode(code)[0] ?? '', inCode(reasons)]))
    expect([...reasonsOf.keys()]).to.have.members(Object.keys(MESSAGES))
    expect(reasonsOf.get('sign_in_cancelled')).to.deep.equal(['provider_error'])
    // No login ends with these codes.
    const others = ['introspection_failed', 'logout_token_invalid', 'revocation_failed']
    for (const [code, reasons] of reasonsOf) {
      if (code === 'sign_in_cancelled') continue
      const expected = Object.entries(LOGIN_ERRORS).filter(
        ([name, { message }]) => message === code && !others.includes(name),
      )
      expect(reasons, code).to.have.members(expected.map(([name]) => name))
    }
  })
})
