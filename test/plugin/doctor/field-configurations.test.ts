import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { check } from '../../../plugin/doctor/check.ts'

/**
 * Configurations that administrators posted, with their details replaced. They were written for the built-in strategy.
 */
const FOLDER = fileURLToPath(new URL('cases/', import.meta.url))
const textOf = (name: string) => readFileSync(`${FOLDER}${name}.json`, 'utf8')

function checkText(text: string, ...args: readonly string[]) {
  let output = ''
  const note = (part: string) => {
    output += part
  }
  const terminal = { list: () => [], read: () => text, out: note, err: note, create: () => undefined }
  const code = check(['config.json', ...args], terminal)
  const lines = output.split('\n').map((line) => line.trim())
  const level = (name: string) => lines.filter((line) => line.startsWith(`${name}: `))
  return { code, errors: level('error'), warnings: level('warning') }
}

/** Checks the configuration with everything that MeshCentral needs for the plugin. */
function checkWithPlugin(name: string) {
  const config = JSON.parse(textOf(name).replace('\ufeff', ''))
  const plugins = { enabled: true, list: ['meshcompanion'] }
  const settings = {
    ...config.settings,
    plugins,
    authLog: '/var/log/mesh-auth.log',
    sessionKey: 'a long random string',
  }
  return checkText(JSON.stringify({ ...config, settings }), '--meshcentral')
}

const NOT_LOADED = 'error: settings.plugins: is missing, so MeshCentral does not load the plugin.'

describe('mesh-companion-check on configurations of real users', () => {
  it('the checker warns that values copied from an example look like placeholders', () => {
    const { warnings } = checkWithPlugin('placeholders')
    expect(warnings.map((line) => line.split('. ')[0])).to.deep.equal(
      ['issuer', 'client.client_id', 'client.client_secret'].map(
        (path) => `warning: domains[""].authStrategies.oidc.${path}: looks like a placeholder of an example`,
      ),
    )
  })

  it('the checker suggests to move domain settings from authStrategies into the domain', () => {
    for (const outcome of [
      checkWithPlugin('settings-inside-strategies'),
      checkText(textOf('settings-inside-strategies'), '--meshcentral'),
    ]) {
      expect(outcome.code).to.equal(0)
      const misplaced = outcome.warnings.filter((line) => line.includes('beside authStrategies'))
      expect(misplaced.map((line) => /move it to (\S+),/.exec(line)?.[1])).to.deep.equal([
        'domains[""].title',
        'domains[""].certUrl',
        'domains[""].sessionRecording',
      ])
    }
  })

  it('the checker reads the strategy in domaindefaults, and names its path in warnings', () => {
    const { code, warnings } = checkWithPlugin('domain-defaults')
    expect(code).to.equal(0)
    expect(warnings.map((line) => line.split(': ')[1])).to.deep.equal([
      'domaindefaults.authStrategies.oidc.clientid',
      'domaindefaults.authStrategies.oidc.clientsecret',
    ])
  })

  it('the checker warns that MeshCentral ignores a port that is a string', () => {
    const { code, warnings } = checkWithPlugin('text-ports')
    expect(code).to.equal(0)
    expect(warnings.map((line) => line.split('. ')[0])).to.include(
      'warning: settings.aliasPort: is written as a string, so MeshCentral ignores it and builds its addresses with settings.port',
    )
  })

  it('the checker suggests /auth-oidc if unknownUserRootRedirect is the callback path', () => {
    const { code, warnings } = checkWithPlugin('redirect-to-callback')
    expect(code).to.equal(0)
    expect(warnings.join('\n')).to.include('unknownUserRootRedirect').and.include('Write "/auth-oidc"')
  })

  // Shows: plugin 9.35.
  it('the checker reads a file that begins with a byte order mark', () => {
    expect(textOf('byte-order-mark').charCodeAt(0)).to.equal(0xfeff)
    expect(checkText(textOf('byte-order-mark'))).to.deep.equal({ code: 0, errors: [], warnings: [] })
    expect(checkWithPlugin('byte-order-mark')).to.deep.equal({ code: 0, errors: [], warnings: [] })
  })

  it('the checker suggests groups settings to replace group rules of another program', () => {
    const { code, errors } = checkWithPlugin('foreign-group-rules')
    expect(code).to.equal(1)
    expect(errors.map((line) => /`(.*?)`/.exec(line)?.[1])).to.deep.equal(['groups.required', 'groups.siteadmin'])
  })

  it('the checker ignores a domain if its key begins with an underscore', () => {
    expect(checkWithPlugin('commented-domain')).to.deep.equal({ code: 0, errors: [], warnings: [] })
  })

  it('the checker reports a missing plugin in a configuration of the built-in strategy', () => {
    for (const name of [
      'domain-defaults',
      'text-ports',
      'redirect-to-callback',
      'byte-order-mark',
      'commented-domain',
    ]) {
      const { code, errors } = checkText(textOf(name), '--meshcentral')
      expect(code, name).to.equal(1)
      expect(
        errors.map((line) => line.slice(0, NOT_LOADED.length)),
        name,
      ).to.deep.equal([NOT_LOADED])
    }
  })
})
