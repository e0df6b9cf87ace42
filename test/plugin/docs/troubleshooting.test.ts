import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { WARNING_CODES } from '../../../plugin/config/problem.ts'
import { LOGIN_ERRORS, type LoginErrorCode, MESSAGES } from '../../../plugin/errors.ts'
import { MESSAGE, messageOf } from '../../../plugin/meshcentral/pages/login-page.ts'
import { inCode, readDocument, section, tableRows } from '../../support/documents.ts'

const PAGE = readDocument('plugin/docs/troubleshooting.md')
const PLUGIN = fileURLToPath(new URL('../../../plugin', import.meta.url))

/** The texts of MeshCentral's login page for the numbers of its messages. */
const MESHCENTRAL_SAYS: Readonly<Record<keyof typeof MESSAGE, string>> = {
  cannotCreate: 'Unable to create account.',
  accountLimit: 'Account limit reached.',
  invalidToken: 'Invalid token, try again.',
  locked: 'Account locked.',
  denied: 'Access denied.',
  failed: 'Login failed, check username and password.',
  maintenance: 'Server under maintenance.',
  securityCheck: 'Invalid security check.',
}
/** Codes that never end a login. */
const NOT_OF_LOGINS: readonly LoginErrorCode[] = ['logout_token_invalid', 'introspection_failed', 'revocation_failed']

const namesBelow = (heading: string) => tableRows(section(PAGE, heading)).flatMap(([names = '']) => inCode(names))

/** Returns every event that the plugin's sources log. */
function eventsInSources(): ReadonlySet<string> {
  const texts = readdirSync(PLUGIN, { recursive: true, encoding: 'utf8' })
    // The live checks report verdicts, which look like log events.
    .filter((name) => name.endsWith('.ts') && !/^doctor\/(live\/|check-live\.ts)/.test(name))
    .map((name) => readFileSync(join(PLUGIN, name), 'utf8'))
  const events = texts.flatMap((text) => [
    ...[...text.matchAll(/\blog\.(?:info|warn|error)\('([a-z-]+)'/g)].map(([, event = '']) => event),
    ...[...text.matchAll(/\b(?:logFailure|report)\(([^)]*)/g)].flatMap(([, argumentList = '']) =>
      [...argumentList.matchAll(/'([a-z]+(?:-[a-z]+)+)'/g)].map(([, event = '']) => event),
    ),
    ...[...text.matchAll(/\bevent: '([a-z-]+)',\s+message:/g)].map(([, event = '']) => event),
    // MeshCentral's log consists of lines of text.
    ...[...text.matchAll(/[`'](?:ERROR|WARN|INFO) ([a-z-]+):/g)].map(([, event = '']) => event),
  ])
  return new Set(events)
}

describe('documentation page on troubleshooting', () => {
  it('the troubleshooting page documents exactly the codes of failed logins', () => {
    const first = tableRows(section(PAGE, '## Codes')).map(([code = '']) => code.replaceAll('`', ''))
    expect(first).to.have.members(Object.keys(LOGIN_ERRORS))
  })

  it('the troubleshooting page documents exactly the configuration warnings', () => {
    expect(namesBelow('## Warnings of a configuration')).to.have.members(WARNING_CODES)
  })

  it('the troubleshooting page documents exactly the events that the plugin logs', () => {
    expect(namesBelow('## Events')).to.have.members([...eventsInSources()])
  })

  it('the troubleshooting page lists the error codes behind each MeshCentral message', () => {
    const rows = tableRows(section(PAGE, "### MeshCentral's login page shows a message"))
    const documented = new Map(rows.map(([message, codes = '']) => [message, inCode(codes)]))
    const codes = (Object.keys(LOGIN_ERRORS) as LoginErrorCode[]).filter((code) => !NOT_OF_LOGINS.includes(code))
    for (const [name, words] of Object.entries(MESHCENTRAL_SAYS)) {
      const behind = codes.filter(
        (reason) => messageOf({ reason, code: LOGIN_ERRORS[reason].message }) === MESSAGE[name as keyof typeof MESSAGE],
      )
      expect(documented.get(words), words).to.have.members(behind)
    }
    // A message of MeshCentral that single sign-on never causes.
    expect(documented.get('IP address blocked, try again later.')).to.deep.equal(['maxInvalidLogin'])
  })

  it("symptoms on the troubleshooting page quote the plugin's messages exactly", () => {
    const quoted = [...section(PAGE, '## Symptoms').matchAll(/^### "(.+)"$/gm)].map(([, words = '']) => words)
    expect(quoted.length).to.be.above(3)
    for (const words of quoted) {
      expect(
        Object.values(MESSAGES).filter((message) => message.startsWith(words)),
        words,
      ).to.have.length(1)
    }
  })

  it('symptoms on the troubleshooting page name only codes and events that exist', () => {
    const existing = new Set([...Object.keys(LOGIN_ERRORS), ...WARNING_CODES, ...eventsInSources()])
    const named = inCode(section(PAGE, '## Symptoms')).filter((name) => /^[a-z]+([_-][a-z]+)+$/.test(name))
    // Error codes of the protocol.
    const protocolCodes = new Set(['invalid_scope', 'invalid_client', 'invalid_grant', 'unauthorized_client'])
    protocolCodes.add('unsupported_response_type')
    expect(named.filter((name) => !existing.has(name) && !protocolCodes.has(name))).to.deep.equal([])
  })
})
