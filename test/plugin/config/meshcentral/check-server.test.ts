import { expect } from 'chai'
import { checkMeshCentralServer } from '../../../../plugin/config/meshcentral/check-server.ts'

type Members = Readonly<Record<string, unknown>>

const PLUGINS = { enabled: true, list: ['meshcompanion'] }
const SETTINGS = { cert: 'mesh.example.com', plugins: PLUGINS, authLog: '/var/log/auth.log', sessionKey: 'secret' }
const OIDC = { issuer: 'https://idp.example.com', client: { client_id: 'mesh', client_secret: 'hunter2' } }
const DOMAIN = { authStrategies: { oidc: OIDC } }

/** Returns paths and remedies of all problems and warnings, errors first. */
function findings(settings: Members, domains: Members = { '': DOMAIN }, more: Members = {}): readonly string[] {
  const { problems, warnings } = checkMeshCentralServer({ settings: { ...SETTINGS, ...settings }, domains, ...more })
  return [
    ...problems.map(({ path, remedy }) => `error ${path}: ${remedy}`),
    ...warnings.map(({ code, path, remedy }) => `${code} ${path}: ${remedy}`),
  ]
}

/** Returns the findings without their remedies. */
const paths = (...args: Parameters<typeof findings>) => findings(...args).map((line) => line.split(': ')[0])

describe('check of a MeshCentral configuration', () => {
  it('reports nothing for a correct MeshCentral configuration', () => {
    expect(findings({})).to.deep.equal([])
  })

  describe('check of a MeshCentral configuration that does not load the plugin', () => {
    // Shows: plugin 9.36.
    it('reports settings.plugins if it is missing, null or false', () => {
      for (const plugins of [undefined, null, false])
        expect(paths({ plugins })).to.deep.equal(['error settings.plugins'])
    })

    it('suggests to move a misplaced plugins object to settings.plugins', () => {
      expect(findings({ plugins: undefined }, { '': { ...DOMAIN, Plugins: PLUGINS } })).to.deep.equal([
        'error settings.plugins: Move `domains[""].plugins` there.',
      ])
      expect(findings({ plugins: undefined }, { '': DOMAIN }, { plugins: PLUGINS })).to.deep.equal([
        'error settings.plugins: Move `plugins` there.',
      ])
    })

    it('reports plugins.enabled set to false, and a plugins.list without the plugin', () => {
      expect(paths({ plugins: { ...PLUGINS, enabled: false } })).to.deep.equal(['error settings.plugins.enabled'])
      expect(paths({ plugins: { enabled: true, list: [] } })).to.deep.equal(['error settings.plugins.list'])
      expect(paths({ plugins: { enabled: true, list: 'meshcompanion' } })).to.deep.equal([
        'error settings.plugins.list',
      ])
    })

    it('suggests the right name for a misspelt plugin in plugins.list', () => {
      for (const name of ['MeshCompanion', 'mesh-companion', 'meshcompanon']) {
        expect(findings({ plugins: { enabled: true, list: ['other', name] } }), name).to.deep.equal([
          `error settings.plugins.list: Write "meshcompanion" instead of "${name}".`,
        ])
      }
    })

    it('warns that MeshCentral may not load the plugin if plugins.list is missing', () => {
      for (const plugins of [true, { enabled: true }, {}]) {
        expect(paths({ plugins })).to.deep.equal(['plugin_not_listed settings.plugins.list'])
      }
    })

    it('accepts a missing settings.plugins if MeshCentral has already loaded the plugin', () => {
      const config = { settings: { ...SETTINGS, plugins: undefined }, domains: { '': DOMAIN } }
      expect(checkMeshCentralServer(config, { isLoaded: true })).to.deep.equal({ problems: [], warnings: [] })
    })
  })

  // Shows: plugin 9.36.
  it('warns of a misspelt member of settings.plugins.meshcompanion', () => {
    const pluginSettings = { sessionCheckMinute: 5, nonsense: 1, loginTokenDays: 3, _old: 1 }
    expect(findings({ plugins: { ...PLUGINS, meshcompanion: pluginSettings } })).to.deep.equal([
      'unknown_key settings.plugins.meshcompanion.sessionCheckMinute: Did you mean "sessionCheckMinutes"?',
      'unknown_key settings.plugins.meshcompanion.nonsense: Known here: sessionCheckMinutes, introspectMinutes, loginTokenDays, presets.',
    ])
    expect(paths({ plugins: { ...PLUGINS, MeshCompanion: 'on' } })).to.deep.equal([
      'unknown_key settings.plugins.meshcompanion',
    ])
  })

  it('warns that MeshCentral ignores a port setting that is a string', () => {
    const { warnings } = checkMeshCentralServer({
      settings: { ...SETTINGS, AliasPort: '9000', port: '444' },
      domains: {},
    })
    expect(warnings.map(({ path, reason }) => `${path} ${reason}`)).to.deep.equal([
      'settings.port is written as a string, so MeshCentral ignores it and listens on 443',
      'settings.aliasPort is written as a string, so MeshCentral ignores it and builds its addresses with settings.port',
    ])
  })

  // Shows: plugin 9.36.
  it('warns if authLog and syslogAuth are both unset, or if sessionKey is empty', () => {
    expect(paths({ authLog: undefined, sessionKey: '' })).to.deep.equal([
      'not_recorded settings.authLog',
      'session_key_missing settings.sessionKey',
    ])
    expect(paths({ authLog: undefined, syslogAuth: true })).to.deep.equal([])
  })

  // Shows: plugin 9.36.
  it('suggests the domain key "" for "default" or a misspelling, if "" has no strategy', () => {
    for (const key of ['default', 'Default', 'defualt', ' ']) {
      expect(findings({}, { [key]: DOMAIN })[0], key).to.match(
        /^error domains.*: For the default domain, write "" instead/,
      )
    }
    expect(findings({}, { '': DOMAIN, default: DOMAIN, sub: DOMAIN })).to.deep.equal([])
  })

  // Shows: plugin 9.36.
  it('suggests oidc for the strategy oicd, but not for known strategies such as saml', () => {
    for (const name of ['oicd', 'oid', 'OIDCC', 'openid']) {
      expect(findings({}, { '': { authStrategies: { [name]: OIDC } } }), name).to.deep.equal([
        `error domains[""].authStrategies.${name}: Write "oidc" instead of "${name}".`,
      ])
    }
    expect(findings({}, { '': { authStrategies: { oidc: OIDC, google: {}, saml: {}, _oicd: {} } } })).to.deep.equal([])
    expect(paths({}, { '': {} }, { domaindefaults: { authStrategies: { oicd: OIDC } } })).to.deep.equal([
      'error domaindefaults.authStrategies.oicd',
    ])
  })

  it('reports authStrategies placed directly in domains; suggests the domain key ""', () => {
    expect(findings({}, { authStrategies: { oidc: OIDC } })[0]).to.match(
      /^error domains\.authStrategies: .*"domains": \{ "":/,
    )
  })

  // Shows: plugin 9.36.
  it('suggests to move domain settings from authStrategies into the domain', () => {
    expect(findings({}, { '': { authStrategies: { oidc: OIDC, title: 'X', certUrl: 'https://x' } } })).to.deep.equal([
      'misplaced domains[""].authStrategies.title: If it is a setting of the domain, move it to domains[""].title, beside authStrategies.',
      'misplaced domains[""].authStrategies.certUrl: If it is a setting of the domain, move it to domains[""].certUrl, beside authStrategies.',
    ])
  })

  // Shows: plugin 9.36.
  it('suggests the login path if unknownUserRootRedirect points to the callback', () => {
    const redirectFindings = (redirect: string, key = '', client: Members = {}) =>
      findings(
        {},
        {
          [key]: {
            unknownUserRootRedirect: redirect,
            authStrategies: { oidc: { ...OIDC, client: { ...OIDC.client, ...client } } },
          },
        },
      )
    const expected = (path: string, key = '""') =>
      `misplaced domains${key === '""' ? '[""]' : `.${key}`}.unknownUserRootRedirect: Write "${path}", where logins begin.`
    expect(redirectFindings('https://mesh.example.com/auth-oidc-callback')).to.deep.equal([expected('/auth-oidc')])
    expect(redirectFindings('/auth-oidc-azure-callback')).to.deep.equal([expected('/auth-oidc')])
    expect(redirectFindings('/sub/auth-oidc-callback', 'sub')).to.deep.equal([expected('/sub/auth-oidc', 'sub')])
    expect(redirectFindings('/back', '', { redirect_uri: 'https://mesh.example.com/back' })).to.deep.equal([
      expected('/auth-oidc'),
    ])
    for (const good of ['/auth-oidc', '/sub/auth-oidc', 'https://www.example.com/'])
      expect(redirectFindings(good)).to.deep.equal([])
  })

  it('warns of _authStrategies if no domain has authStrategies', () => {
    expect(paths({}, { '': { _authStrategies: {} } })).to.deep.equal(['misplaced domains[""]._authStrategies'])
    expect(paths({}, { '': { _authStrategies: {} }, b: DOMAIN })).to.deep.equal([])
    expect(paths({}, { '': { _authStrategies: {} } }, { domaindefaults: DOMAIN })).to.deep.equal([])
  })

  it('does not throw while checking a malformed MeshCentral configuration', () => {
    for (const config of [null, 5, 'x', [], {}, { settings: 5, domains: [] }, { domains: { '': null } }]) {
      expect(() => checkMeshCentralServer(config)).not.to.throw()
    }
  })
})
