import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { check } from '../../../plugin/doctor/check.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { TYPESCRIPT } from '../../support/typescript/options.ts'

const SCRIPT = fileURLToPath(new URL('../../../plugin/check.ts', import.meta.url))
const FINE = { issuer: 'https://idp.example.com', client: { client_id: 'mesh', client_secret: 'hunter2' } }
const OLD = { issuer: 'https://idp.example.com', clientid: 'mesh', clientsecret: 'hunter2' }

const server = (oidc: unknown) => ({
  settings: { cert: 'mesh.example.com' },
  domains: { '': { authStrategies: { oidc } } },
})
/** Settings of a MeshCentral that loads the plugin and has no warnings. */
const LOADED = {
  cert: 'mesh.example.com',
  plugins: { enabled: true, list: ['meshcompanion'], meshcompanion: { loginTokenDays: 30 } },
  authLog: '/var/log/mesh-auth.log',
  sessionKey: 'a long random string',
}

/** Runs the command in this process with this function to read files. */
function checkFiles(read: (file: string) => string, ...args: readonly string[]) {
  const output = { out: '', err: '' }
  const written = new Map<string, string>([['there.json', 'as it was']])
  const note = (name: 'out' | 'err') => (part: string) => {
    output[name] += part
  }
  const create = (file: string, text: string) => {
    if (written.has(file)) throw Object.assign(new Error(file), { code: 'EEXIST' })
    written.set(file, text)
  }
  const terminal = { list: () => [], read, out: note('out'), err: note('err'), create }
  return { code: check(['config.json', ...args], terminal), ...output, written }
}
function checkText(text: string, ...args: readonly string[]) {
  const { written: _written, ...outcome } = checkFiles(() => text, ...args)
  return outcome
}
const checkOidc = (oidc: unknown, ...args: readonly string[]) =>
  checkText(JSON.stringify(server(oidc), null, 2), ...args)

/** Removes the addresses at the end of the output. */
function withoutAddresses<Outcome extends { readonly out: string }>(outcome: Outcome): Outcome {
  return { ...outcome, out: outcome.out.replace(/^domain .*, to enter at the IdP:\n(?: {2}.*\n)+/gm, '') }
}

describe('mesh-companion-check', () => {
  // Shows: plugin 4.3.
  it('the checker reads a relative client_secret_file, and never prints the secret', () => {
    const client = { client_id: 'mesh', client_secret_file: 'secrets/oidc' }
    const config = JSON.stringify(server({ ...FINE, client }))
    const secretFile = resolve('secrets/oidc')
    for (const option of [[], ['--meshcentral']]) {
      const fine = checkFiles((file) => (file === secretFile ? 'hunter2\n' : config), ...option)
      expect(fine.out).to.not.include('client_secret_file').and.not.include('hunter2')
      const { code, out } = checkFiles(
        (file) => {
          if (file === secretFile) throw Object.assign(new Error(file), { code: 'EACCES' })
          return config
        },
        ...option,
      )
      expect(code).to.equal(1)
      expect(out)
        .to.include('oidc.client.client_secret_file: names a file that this process may not read (EACCES).')
        .and.include(secretFile)
    }
  })

  it("the checker reads the client's key files without showing their contents", () => {
    const config = server({ ...FINE, client: { ...FINE.client, token_endpoint_auth_method: 'private_key_jwt' } })
    Object.assign(config.domains[''], { oidcCredentials: { jwksFile: 'keys.json', tlsCertFile: 'gone.pem' } })
    const files: Readonly<Record<string, string>> = {
      'config.json': JSON.stringify(config),
      'keys.json': '{"keys":[{"kty":"EC","crv":"P-256","d":"hunter2"}]}',
    }
    const { code, out } = checkFiles((file) => {
      const text = files[file]
      if (text === undefined) throw Object.assign(new Error(file), { code: 'ENOENT' })
      return text
    })
    expect(code).to.equal(1)
    expect(out.split('\n').map((line) => line.split('. ')[0])).to.deep.equal([
      'domain "": 3 errors, no warnings',
      '  error: domains[""].oidcCredentials.tlsKeyFile: is missing',
      '  error: domains[""].oidcCredentials.tlsCertFile: names a file that cannot be read (ENOENT)',
      '  error: domains[""].oidcCredentials.jwksFile.keys[0]: is not a usable private key',
      '',
    ])
    expect(out).to.not.include('hunter2')
  })

  // Shows: plugin 9.30.
  it('the checker prints every error of every domain with its path and remedy', () => {
    const { code, out, err } = checkText(
      JSON.stringify({
        settings: {},
        domains: {
          '': { title: 'Lab', authStrategies: { oidc: { ...FINE, groups: { requird: 'a' }, newAccounts: 1 } } },
          b: { dns: 'b.example', authStrategies: { oidc: { client: {} } } },
        },
      }),
    )
    expect({ code, err }).to.deep.equal({ code: 1, err: '' })
    expect(out.split('\n').map((line) => line.split('. ')[0])).to.deep.equal([
      'domain "" ("Lab"): 3 errors, no warnings',
      '  error: settings.cert: is missing',
      '  error: domains[""].authStrategies.oidc.groups.requird: is not a known setting',
      '  error: domains[""].authStrategies.oidc.newAccounts: must be true or false',
      'domain "b": 3 errors, no warnings',
      '  error: domains.b.authStrategies.oidc.client.client_id: is missing',
      '  error: domains.b.authStrategies.oidc.client.client_secret: is missing',
      '  error: domains.b.authStrategies.oidc.issuer: is missing, but no preset is chosen',
      '',
    ])
    expect(out).to.contain('Did you mean "required"?')
  })

  // Shows: plugin 10.24.
  it('the checker warns that NODE_TLS_REJECT_UNAUTHORIZED=0 has no effect', () => {
    const previous = process.env.NODE_TLS_REJECT_UNAUTHORIZED
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    try {
      const { code, out } = checkOidc(FINE)
      expect(code).to.equal(0)
      expect(out).to.include('warning: NODE_TLS_REJECT_UNAUTHORIZED: is 0').and.include('NODE_EXTRA_CA_CERTS')
    } finally {
      if (previous === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = previous
    }
    expect(checkOidc(FINE).out).to.not.include('NODE_TLS')
  })

  it('the checker lists the addresses to register for each domain that has no errors', () => {
    const keyed = { ...FINE, client: { ...FINE.client, post_logout_redirect_uri: false } }
    const config = {
      settings: { cert: 'mesh.example.com' },
      domains: {
        '': { authStrategies: { oidc: keyed } },
        sub: { authStrategies: { oidc: { ...FINE, client: { ...FINE.client, redirect_uri: undefined } } } },
        bad: { authStrategies: { oidc: { issuer: 5 } } },
      },
    }
    const { out } = checkText(JSON.stringify(config), '--meshcentral')
    expect(out.slice(out.indexOf('domain "", to enter'))).to.equal(
      [
        'domain "", to enter at the IdP:',
        '  redirect URI: https://mesh.example.com/auth-oidc-callback',
        '  back-channel logout URI: https://mesh.example.com/auth-oidc-backchannel-logout',
        '  front-channel logout URI: https://mesh.example.com/auth-oidc-frontchannel-logout',
        'domain "sub", to enter at the IdP:',
        '  redirect URI: https://mesh.example.com/sub/auth-oidc-callback',
        '  post-logout redirect URI: https://mesh.example.com/sub/login',
        '  back-channel logout URI: https://mesh.example.com/sub/auth-oidc-backchannel-logout',
        '  front-channel logout URI: https://mesh.example.com/sub/auth-oidc-frontchannel-logout',
        '',
      ].join('\n'),
    )
  })

  // Shows: plugin 7.15.
  it('the checker with --migrate prints only the migrated configuration to stdout', () => {
    const { code, out, err } = checkOidc(OLD, '--migrate')
    expect(code).to.equal(0)
    expect(JSON.parse(out)).to.deep.equal(server(FINE))
    expect(err).to.contain('oidc.clientid: is deprecated. Move it to client.client_id.')
    expect(withoutAddresses(checkText(out))).to.deep.equal({
      code: 0,
      out: 'domain "": no errors, no warnings\n',
      err: '',
    })
  })

  it('the checker with --migrate migrates a file despite its errors, and reports them', () => {
    const { code, out, err } = checkOidc({ ...OLD, groups: 5 }, '--migrate')
    expect(code).to.equal(1)
    expect(JSON.parse(out)).to.deep.equal(server({ ...FINE, groups: 5 }))
    expect(err).to.contain('error: domains[""].authStrategies.oidc.groups: must be an object')
  })

  // Shows: plugin 9.34.
  it('the checker with --out writes the migrated configuration to a new file', () => {
    const { code, out, err, written } = checkFiles(() => JSON.stringify(server(OLD)), '--migrate', '--out', 'new.json')
    expect({ code, err }).to.deep.equal({ code: 0, err: '' })
    expect(JSON.parse(written.get('new.json') ?? '')).to.deep.equal(server(FINE))
    expect(out).to.contain('oidc.clientid: is deprecated').and.contain('new.json: written')
  })

  // Shows: plugin 9.34.
  it('the checker with --out exits with 2 and changes nothing if the file exists', () => {
    const { code, err, written } = checkFiles(() => JSON.stringify(server(OLD)), '--migrate', '--out', 'there.json')
    expect({ code, content: written.get('there.json') }).to.deep.equal({ code: 2, content: 'as it was' })
    expect(err).to.equal('there.json: already exists and was not changed. Name a new file.\n')
  })

  it('the checker refuses --out alone, --back alone, and --back with --migrate', () => {
    for (const [args, reason] of [
      [['--out', 'new.json'], '--out FILE needs --migrate or --back.'],
      [['--back'], '--back needs --meshcentral.'],
      [['--back', '--migrate', '--meshcentral'], '--back and --migrate print different configurations: choose one.'],
    ] as const) {
      const { code, err } = checkOidc(FINE, ...args)
      expect({ code, reason: err.split('\n')[0] }).to.deep.equal({ code: 2, reason })
    }
  })

  it('the checker with --meshcentral exits with 1 if the plugin would not be loaded', () => {
    const { code, out } = checkOidc(FINE, '--meshcentral')
    expect(code).to.equal(1)
    expect(out).to.match(/^server: 1 error, 2 warnings\n {2}error: settings\.plugins: is missing/)
    expect(checkOidc(FINE).code).to.equal(0)
  })

  it('the checker with --meshcentral suggests oidc if the only strategy is named oicd', () => {
    const config = (authStrategies: object) => JSON.stringify({ settings: LOADED, domains: { '': { authStrategies } } })
    const { code, err } = checkText(config({ oicd: FINE }), '--meshcentral')
    expect(code).to.equal(1)
    expect(err).to.contain('domains[""].authStrategies.oicd').and.contain('Write "oidc"')
    expect(checkText(config({ google: {} }), '--meshcentral').code).to.equal(2)
  })

  it('--back prints the configuration to stdout, and the differences to stderr', () => {
    const config = JSON.stringify({
      ...server({ ...OLD, groups: { scope: '', siteadmin: 'a', revokeAdmin: false } }),
      settings: { cert: 'mesh.example.com', plugins: { enabled: true, list: [] } },
    })
    const { code, out, err } = checkText(config, '--meshcentral', '--back')
    expect(code).to.equal(0)
    expect(JSON.parse(out).domains[''].authStrategies.oidc).to.deep.equal({
      issuer: FINE.issuer,
      client: FINE.client,
      groups: { siteadmin: ['a'], scope: 'openid' },
    })
    expect(err).to.match(/ {2}different: A sign-out at the IdP.* ends no session here\.\n/)
    expect(err)
      .to.contain('  different: groups.revokeAdmin has no effect')
      .and.contain('different: groups.scope cannot')
    // The built-in strategy works without the plugin, so no line asks for the plugin.
    expect(err).not.to.contain('settings.plugins')
  })

  it('the checker with --back prints no configuration if the file has errors', () => {
    const { code, out, err } = checkOidc({ ...FINE, groups: 5 }, '--meshcentral', '--back')
    expect({ code, out }).to.deep.equal({ code: 1, out: '' })
    expect(err).to.contain('once the errors are corrected')
  })

  it('the checker warns of members that occur twice in the configuration file', () => {
    const { code, out } = checkText(
      JSON.stringify(server(FINE)).replace('{"client_id"', '{"client_id":"first","client_id"'),
    )
    expect(code).to.equal(0)
    expect(out).to.contain('warning: domains[""].authStrategies.oidc.client.client_id: occurs more than once.')
  })

  it('the checker reports line and column of a syntax error without quoting the file', () => {
    const text = '{\n  "settings": { "cert": hunter2 }\n}'
    expect(checkText(text, '--migrate')).to.deep.equal({
      code: 2,
      out: '',
      err: 'config.json:2:25: is not JSON: expected a value, found something else.\n',
    })
  })

  it('the checker exits with 2 for a file without domains or strategies', () => {
    for (const text of ['[]', '{}', '{"domains":{}}', '{"domains":{"":{"authStrategies":{}}}}']) {
      const { code, out, err } = checkText(text, '--migrate')
      expect({ code, out }, text).to.deep.equal({ code: 2, out: '' })
      expect(err).to.match(/^( {2}error: (\$|domains): |No domain has authStrategies\.oidc)/)
    }
  })

  it('the checker with --meshcentral only warns of unknown keys, and requires no dns', () => {
    const config = {
      settings: LOADED,
      domains: {
        '': { authStrategies: { oidc: FINE } },
        sub: { authStrategies: { oidc: { ...FINE, custom: { colour: 'red' } } } },
        own: { dns: 'own.example.com', authStrategies: { oidc: FINE } },
      },
    }
    expect(checkText(JSON.stringify(config)).code).to.equal(1)
    const { code, out } = withoutAddresses(checkText(JSON.stringify(config), '--meshcentral'))
    expect(code).to.equal(0)
    expect(out.split('\n').map((line) => line.split('. ')[0])).to.deep.equal([
      'domain "": no errors, no warnings',
      'domain "sub": no errors, 1 warning',
      '  warning: domains.sub.authStrategies.oidc.custom.colour: is not a known setting',
      'domain "own": no errors, no warnings',
      '',
    ])
  })

  it('the checker prints a note, not a warning, if login tokens have no time limit', () => {
    const checkWithPlugin = (meshcompanion: object) => {
      const settings = { ...LOADED, plugins: { ...LOADED.plugins, meshcompanion } }
      return withoutAddresses(checkText(JSON.stringify({ ...server(FINE), settings }), '--meshcentral'))
    }
    const { code, out } = checkWithPlugin({})
    expect(code).to.equal(0)
    expect(out).to.match(/^domain "": no errors, no warnings\nnote: Login tokens .* in the domain "": /)
    expect(checkWithPlugin({ loginTokenDays: 30 }).out).to.not.include('note:')
  })

  it('the checker infers presets as MeshCentral does, but only with --meshcentral', () => {
    const oidc = { client: FINE.client, custom: { tenant_id: 'contoso.example' } }
    expect(checkOidc(oidc).out).to.contain('issuer: is missing, but no preset is chosen')
    const loaded = JSON.stringify({ ...server(oidc), settings: LOADED })
    expect(withoutAddresses(checkText(loaded, '--meshcentral'))).to.deep.equal({
      code: 0,
      out: 'domain "": no errors, no warnings\n',
      err: '',
    })
  })

  describe('mesh-companion-check --explain-groups', () => {
    const explain = (groups: unknown, names: string) =>
      withoutAddresses(checkOidc({ ...FINE, groups }, '--explain-groups', names)).out

    it('the checker with --explain-groups accepts names as a list or a JSON array', () => {
      const names = JSON.stringify(['cn=ops,ou=groups', 'ops'])
      expect(explain({ required: 'cn=ops,ou=groups' }, names)).to.contain('admitted: in "cn=ops,ou=groups"')
      expect(explain({ required: 'Ops' }, 'ops')).to.contain('refused: in none of groups.required ("Ops")')
      expect(explain({ required: 'Ops' }, '')).to.match(/warnings\n {2}a member of no group:\n/)
      for (const wrong of ['[', '[1]', '[""]']) {
        const { code, err } = checkOidc(FINE, '--explain-groups', wrong)
        expect({ code, reason: err.split('\n')[0] }).to.deep.equal({
          code: 2,
          reason: '--explain-groups accepts A,B,C or a JSON array of strings.',
        })
      }
    })

    it('the checker with --explain-groups explains each domain that has no errors', () => {
      const domainWith = (key: string, groups?: object) => ({
        dns: `${key}.example`,
        authStrategies: { oidc: { ...FINE, ...(groups ? { groups } : {}) } },
      })
      const domains = {
        a: domainWith('a'),
        b: domainWith('b', { required: 'Ops' }),
        c: domainWith('c', { required: 5 }),
      }
      const { code, out } = checkText(JSON.stringify({ settings: {}, domains }), '--explain-groups', 'Ops')
      expect(code).to.equal(1)
      const [, first, second, third] = out.split('domain ')
      expect(first).to.contain('No groups are configured')
      expect(second).to.contain('admitted: in "Ops", of groups.required')
      expect(third).to.contain('explained once the errors are corrected')
    })
  })

  describe('mesh-companion-check as a process', () => {
    const { path } = temporaryFolder()

    const run = (...args: readonly string[]) =>
      spawnSync(process.execPath, [...TYPESCRIPT, SCRIPT, ...args], { encoding: 'utf8', timeout: 15_000 })

    describe('mesh-companion-check --migrate with a long configuration', () => {
      const required = Array.from({ length: 20_000 }, (_, index) => `group ${index}`)
      beforeEach(() => writeFileSync(path('config.json'), JSON.stringify(server({ ...OLD, groups: { required } }))))

      it('the checker writes a long migrated configuration completely to a pipe', () => {
        const { status, stdout } = run(path('config.json'), '--migrate')
        expect(status).to.equal(0)
        expect(JSON.parse(stdout)).to.deep.equal(server({ ...FINE, groups: { required } }))
      })

      it('the checker exits cleanly if the reader of its output closes the pipe early', async () => {
        const child = spawn(process.execPath, [...TYPESCRIPT, SCRIPT, path('config.json'), '--migrate'])
        child.stdout.destroy()
        const [stderr, end] = await Promise.all([text(child.stderr), once(child, 'close')])
        expect(end).to.deep.equal([0, null])
        expect(stderr).to.contain('clientid').and.not.contain('EPIPE')
      })
    })

    it('the checker exits with 2 and a reason if its arguments or its file are unusable', () => {
      for (const [args, reason] of [
        [[], /^Name one file to check\.\n\nUsage: /],
        [['a.json', 'b.json'], /^Name one file/],
        [[path('missing.json')], /missing\.json: cannot be read \(ENOENT\)\.\n$/],
        [[path()], /cannot be read \(EISDIR\)\.\n$/],
      ] as const) {
        const { status, stdout, stderr } = run(...args)
        expect({ status, stdout }).to.deep.equal({ status: 2, stdout: '' })
        expect(stderr).to.match(reason)
      }
    })
  })
})
