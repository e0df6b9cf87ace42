import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { installedPackages, installPackage, type Project, packPackage } from '../support/installed-package.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFile(join(ROOT, path), 'utf8')

const PACKAGE = JSON.parse(await read('package.json')) as {
  readonly version: string
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
  readonly bin: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta: Readonly<Record<string, object>>
}
const DONE = { status: 0, stderr: '' }
const STRICT = ['--strict', '--target', 'es2023', '--lib', 'es2023', '--types', 'node']
/** The packages that npm installs with the package. Users who need more install peers. */
const INSTALLED: readonly string[] = [
  ...['@pinojs/redact', 'agent-base', 'ajv', 'ajv-formats', 'atomic-sleep', 'cookie', 'debug', 'fast-deep-equal'],
  ...['fast-uri', 'https-proxy-agent', 'ipaddr.js', 'jose', 'json-schema-traverse', 'ms', 'oauth4webapi'],
  ...['on-exit-leak-free', 'openid-client', 'pino', 'pino-abstract-transport', 'pino-std-serializers'],
  ...['process-warning', 'proxy-agent-negotiate', 'proxy-from-env', 'quick-format-unescaped', 'real-require'],
  ...['require-from-string', 'safe-stable-stringify', 'sonic-boom', 'split2', 'thread-stream'],
]
const HOST_CONFIG = {
  settings: { cert: 'mesh.example' },
  domains: {
    '': {
      authStrategies: {
        oidc: { issuer: 'https://idp.example', client: { client_id: 'mesh', client_secret: 'secret' } },
      },
    },
  },
}

/** Returns the names that the sources of a public face export, types included. */
async function exportsOf(
  face: string,
): Promise<{ readonly values: readonly string[]; readonly types: readonly string[] }> {
  const text = await read(`${face}.ts`)
  const listed = [...text.matchAll(/^export (type )?\{([^}]+)\}/gm)].flatMap(([, isType = '', list = '']) =>
    list.split(',').flatMap((entry) => (entry.trim() === '' ? [] : [`${isType}${entry.trim()}`])),
  )
  const declared = [...text.matchAll(/^export (interface|type|function|const) (\w+)/gm)].map(([, kind, name]) =>
    kind === 'interface' || kind === 'type' ? `type ${name}` : `${name}`,
  )
  const all = [...listed, ...declared]
  return {
    values: all.filter((entry) => !entry.startsWith('type ')),
    types: all.filter((entry) => entry.startsWith('type ')).map((entry) => entry.slice('type '.length)),
  }
}

/** Every exported value, with its source's description. */
const FACES = await Promise.all(
  Object.entries(PACKAGE.exports).flatMap(([path, target]) => {
    if (typeof target === 'string') return []
    const source = target.default.replace(/^\.\/dist\/(.*)\.js$/, '$1')
    return [exportsOf(source).then((names) => ({ name: path.replace('.', 'mesh-companion'), ...names }))]
  }),
)
const DATA = Object.entries(PACKAGE.exports).flatMap(([path, target]) =>
  typeof target === 'string' ? [path.replace('.', 'mesh-companion')] : [],
)

/** A program that uses the package, followed by one import of every name. */
const PROGRAM = `
import express from 'express'
import { expressSessions, type Host, LoginError, type LoginErrorCode, registerOidc } from 'mesh-companion/plugin'
import { createLog, settingsFrom, type Sidecar, startSidecar } from 'mesh-companion/sidecar'

declare const accounts: Host['accounts']
declare const groups: Host['groups']
const host: Host = {
  accounts,
  groups,
  sessions: expressSessions(),
  loginPage: { showFailure: (req, res, _domain, { code }) => res.redirect(302, \`/login?failure=\${code}&\${req.path}\`) },
  authLog: ({ event, message }) => console.log(event, message),
  secret: 'thirty-two or more characters, or none',
}
const oidc = await registerOidc(express(), { config: {}, host })
// An application of another version of Express; its handler type accepts our handler.
declare const older: { use(...handlers: ((req: express.Request, res: express.Response, next: (error?: unknown) => void) => unknown)[]): object }
await registerOidc(older, { config: {}, host })
const titles: readonly string[] = oidc.loginOptions('').map(({ title }) => title)
const code: LoginErrorCode = new LoginError('account_limit').code
// @ts-expect-error: there is no such code
new LoginError('no_such_code')

const reading = settingsFrom('{}', '/tmp')
if ('settings' in reading) {
  const sidecar: Sidecar = await startSidecar(reading.settings, createLog(reading.settings.log.level))
  console.log(sidecar.url, titles, code)
}
`
const IMPORTS = FACES.map(({ name, values, types }, index) => {
  const all = [...values, ...types].map((entry) => `${entry} as ${entry}${index}`)
  return `export { ${all.join(', ')} } from '${name}'`
}).join('\n')

/** The same program in CommonJS. */
const COMMONJS = FACES.map(({ name, values, types }, index) => {
  const used = [...values.map((value) => `typeof all${index}.${value}`), ...types.map((type) => `all${index}.${type}`)]
  return `import all${index} = require('${name}')\nexport type Used${index} = [${used.join(', ')}]`
}).join('\n')

describe('The package as installed', () => {
  let tarball: string
  let project: Project
  before(async () => {
    tarball = packPackage()
    project = await installPackage(tarball)
  }).timeout(120_000)
  after(() => project?.remove())

  it('the package has all files that its manifest names, and no sources or tests', () => {
    const named = [
      ...Object.values(PACKAGE.exports).flatMap((target) =>
        typeof target === 'string' ? [target] : [target.types, target.default],
      ),
      ...Object.values(PACKAGE.bin),
    ].map((path) => path.replace('./', ''))
    expect(project.shipped).to.include.members([...named, 'README.md', 'CHANGELOG.md', 'LICENSE'])
    const places = new Set(project.shipped.map((path) => path.split('/').slice(0, 2).join('/')))
    expect([...places]).to.have.members([
      'dist/fixtures',
      'dist/plugin',
      'dist/THIRD-PARTY-LICENSES',
      'dist/sbom.cdx.json',
      'dist/schemas',
      'dist/sidecar',
      'plugin/docs',
      'sidecar/deploy',
      'sidecar/docs',
      'README.md',
      'CHANGELOG.md',
      'LICENSE',
      'package.json',
    ])
    const built = project.shipped.filter(
      (path) => path.startsWith('dist/') && !/^dist\/(schemas\/|THIRD-|sbom)/.test(path),
    )
    const sql = readdirSync(join(ROOT, 'sidecar/store'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.sql'))
      .map((name) => `dist/sidecar/store/${name.replaceAll('\\', '/')}`)
    expect(built.filter((path) => !/\.(js|js\.map|d\.ts)$/.test(path))).to.have.members(sql)
  })

  it('programs that import or require the package compile (nodenext, bundler)', async () => {
    await project.write('program.ts', `${PROGRAM}\n${IMPORTS}\n`)
    await project.write('program.cts', COMMONJS)
    for (const [resolution, module, program] of [
      ['nodenext', 'nodenext', 'program.ts'],
      ['bundler', 'esnext', 'program.ts'],
      ['nodenext', 'nodenext', 'program.cts'],
    ] as const) {
      const how = ['--module', module, '--moduleResolution', resolution, '--skipLibCheck', 'false']
      const { status, stdout } = project.compile(...STRICT, ...how, program)
      expect({ status, stdout }, `${resolution}, ${program}`).to.deep.equal({ status: 0, stdout: '' })
    }
  }).timeout(60_000)

  for (const [how, kind, load] of [
    ['import', 'module', `async (name, options) => import(name, options)`],
    ['require', 'commonjs', 'async (name) => ({ ...require(name), default: require(name) })'],
  ] as const)
    it(`every export of the package loads by ${how}`, () => {
      const code = `const load = ${load}
        const faces = Promise.all(${JSON.stringify(FACES.map(({ name }) => name))}.map((name) => load(name)))
        const json = { with: { type: 'json' } }
        const data = Promise.all(${JSON.stringify(DATA)}.map((name) => load(name, json)))
        Promise.all([faces, data]).then(([faces, data]) =>
          console.log(JSON.stringify([faces.map(Object.keys), data.map((file) => typeof file.default)])))`
      const { status, stdout, stderr } = project.node(`--input-type=${kind}`, '--no-warnings', '-e', code)
      expect({ status, stderr }).to.deep.equal(DONE)
      const [exported, data] = JSON.parse(stdout) as [readonly (readonly string[])[], readonly string[]]
      for (const [index, { name, values }] of FACES.entries())
        expect(
          exported[index]?.filter((key) => !/^(__esModule|module\.exports|default)$/.test(key)),
          name,
        ).to.have.members(values)
      expect(data).to.deep.equal(DATA.map(() => 'object'))
      expect(DATA).to.include('mesh-companion/package.json').and.have.length.above(3)
    }).timeout(60_000)

  // Shows: sidecar O1.17.
  it("the package's commands print their version and usage", () => {
    for (const name of Object.keys(PACKAGE.bin)) {
      const version = project.bin(name, '--version')
      expect(version, name).to.include({ ...DONE, stdout: `${PACKAGE.version}\n` })
      const help = project.bin(name, '--help')
      expect(help, name).to.include(DONE)
      expect(help.stdout)
        .to.match(new RegExp(`^Usage: ${name} `))
        .and.include('--version')
        .and.include('--help')
    }
  }).timeout(60_000)

  it("the package's check commands accept a plugin and a sidecar configuration", async () => {
    await project.write('config.json', JSON.stringify(HOST_CONFIG))
    await project.write('sidecar.json', JSON.stringify({ aprsis: { callsign: 'N0CALL-10' }, database: ':memory:' }))
    expect(project.bin('mesh-companion-check', 'config.json')).to.include(DONE)
    expect(project.bin('mesh-companion-sidecar', '--config', 'sidecar.json', '--check')).to.include(DONE)
  }).timeout(60_000)

  describe('The package in an Express server, without the packages of the sidecar', () => {
    // The packages of other parts: of the plugin, of the test kit, and of a sidecar on PostgreSQL.
    const unneededPeers = ['express', '@types/express', 'oidc-provider', 'selfsigned', 'pg']
    const needed = Object.keys(PACKAGE.peerDependencies).filter((name) => !unneededPeers.includes(name))
    let alone: Project
    before(async () => {
      alone = await installPackage(tarball, { peers: ['express', '@types/express'] })
      await alone.write('sidecar.json', JSON.stringify({ aprsis: { callsign: 'N0CALL-10' }, database: ':memory:' }))
    })
    after(() => alone?.remove())

    it('npm install of the package installs all required packages and no optional ones', async () => {
      expect(await installedPackages([])).to.deep.equal(INSTALLED)
      expect(project.packages).to.include.members(Object.keys(PACKAGE.peerDependencies))
    })

    it('the package has licenses and a bill of materials of its installed dependencies', async () => {
      const home = join(alone.folder, 'node_modules/mesh-companion/dist')
      const { components } = JSON.parse(await readFile(join(home, 'sbom.cdx.json'), 'utf8'))
      const names = components.map((component: { readonly name: string }) => component.name)
      expect([...new Set(names)].sort()).to.deep.equal(INSTALLED)
      const notices = await readFile(join(home, 'THIRD-PARTY-LICENSES'), 'utf8')
      for (const name of INSTALLED) expect(notices).to.match(new RegExp(`^-{80}\n${name} [\\d.]+\nLicense: `, 'm'))
    })

    it('each peer dependency is optional, and allows the major version used in tests', () => {
      const majorOf = (range = '') => /\d+/.exec(range)?.[0]
      for (const [name, range] of Object.entries(PACKAGE.peerDependencies)) {
        expect(PACKAGE.peerDependenciesMeta, name).to.have.deep.property(name, { optional: true })
        expect(range.split(' || ').map(majorOf), name).to.include(majorOf(PACKAGE.devDependencies[name]))
      }
    })

    it('the plugin loads, checks configurations and compiles without sidecar packages', async () => {
      for (const name of ['plugin', 'meshcentral']) {
        const load = `console.log(typeof (await import('mesh-companion/${name}')))`
        expect(alone.node('--input-type=module', '-e', load), name).to.include({ ...DONE, stdout: 'object\n' })
      }
      await alone.write('config.json', JSON.stringify(HOST_CONFIG))
      expect(alone.bin('mesh-companion-check', 'config.json')).to.include(DONE)
      await alone.write('program.ts', `${PROGRAM}\n${IMPORTS}\n`)
      const how = ['--module', 'nodenext', '--skipLibCheck', 'false']
      const { status, stdout } = alone.compile(...STRICT, ...how, 'program.ts')
      expect({ status, stdout }).to.deep.equal({ status: 0, stdout: '' })
    }).timeout(60_000)

    it('without its packages, the sidecar prints the command that installs them', () => {
      const started = alone.bin('mesh-companion-sidecar', '--config', 'sidecar.json')
      expect(started).to.include({ status: 1, stderr: '' })
      const lines = started.stdout.trim().split('\n')
      expect(lines).to.have.length(1)
      const line = JSON.parse(lines[0] ?? '')
      expect(line).to.include({ level: 'error', event: 'start-failed' })
      expect(line.error).to.include({ code: 'packages_missing' })
      expect(line.error.message).to.equal(`The sidecar needs packages that are not installed: ${needed.join(', ')}.`)
      const versions = needed.map((name) => `${name}@${PACKAGE.devDependencies[name]?.replace(/[~^](\d+).*$/, '$1')}`)
      expect(line.remedy).to.include(`Run "npm install ${versions.join(' ')}" where`)

      const checked = alone.bin('mesh-companion-sidecar', '--config', 'sidecar.json', '--check')
      expect(checked).to.include({ status: 78, stderr: '' })
      expect(checked.stdout).to.equal(`${line.error.message} ${line.remedy}\n`)

      const restored = alone.bin('mesh-companion-sidecar', '--config', 'sidecar.json', '--restore', 'backup.sqlite')
      const refusal = `Nothing was restored. ${line.error.message} ${line.remedy}\n`
      expect(restored).to.include({ status: 1, stdout: '', stderr: refusal })

      const code = `
        import { createLog, settingsFrom, startSidecar } from 'mesh-companion/sidecar'
        const { settings } = settingsFrom('{ "aprsis": { "callsign": "N0CALL" } }', '.')
        startSidecar(settings, createLog('silent')).catch((error) => console.log(error.code))`
      expect(alone.node('--input-type=module', '-e', code)).to.include({ ...DONE, stdout: 'packages_missing\n' })
    }).timeout(60_000)
  })

  describe('The package without the PostgreSQL client', () => {
    const SETTINGS = { aprsis: { host: '127.0.0.1', port: 1, callsign: 'N0CALL-10' } }
    let alone: Project
    before(async () => {
      alone = await installPackage(tarball, { without: 'pg' })
    })
    after(() => alone?.remove())

    it('the sidecar runs on a SQLite file without the pg package', () => {
      const text = JSON.stringify({ ...SETTINGS, listen: { port: 0 }, admin: { port: 0 }, database: 'sidecar.sqlite' })
      const code = `
        import { createLog, settingsFrom, startSidecar } from 'mesh-companion/sidecar'
        const { settings } = settingsFrom(${JSON.stringify(text)}, '.')
        const sidecar = await startSidecar(settings, createLog('silent'))
        console.log((await fetch(sidecar.url + '/v1/openapi.json')).status)
        await sidecar.close()`
      expect(alone.packages).not.to.include('pg')
      expect(alone.node('--input-type=module', '-e', code)).to.include({ ...DONE, stdout: '200\n' })
    }).timeout(60_000)

    it('with PostgreSQL, a start prints the command that installs a missing pg package', async () => {
      const database = 'postgres://mesh:very-secret@127.0.0.1:1/mesh'
      await alone.write('sidecar.json', JSON.stringify({ ...SETTINGS, database }))
      const started = alone.bin('mesh-companion-sidecar', '--config', 'sidecar.json')
      expect(started).to.include({ status: 1, stderr: '' })
      const lines = started.stdout.trim().split('\n')
      expect(lines, started.stdout).to.have.length(1)
      const line = JSON.parse(lines[0] ?? '')
      expect(line).to.include({ level: 'error', event: 'start-failed' })
      expect(line.error).to.include({ code: 'pg_missing' })
      expect(line.remedy).to.match(/^Run "npm install pg@8"/)
      expect(started.stdout).not.to.include('very-secret')
    }).timeout(60_000)
  })

  it("the package's version has an entry in the change log", async () => {
    const [newest] = [...(await read('CHANGELOG.md')).matchAll(/^## \[([\d.]+)\] - \d{4}-\d\d-\d\d$/gm)]
    expect(newest?.[1]).to.equal(PACKAGE.version)
  })
})
