import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { installPackage, type Project, packPackage } from '../support/installed-package.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFile(join(ROOT, path), 'utf8')

const PACKAGE = JSON.parse(await read('package.json')) as {
  readonly version: string
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
  readonly bin: Readonly<Record<string, string>>
}
const DONE = { status: 0, stderr: '' }

/** What the sources of a public face say that it exports, types included. */
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

const FACES = await Promise.all(
  ['plugin', 'sidecar', 'meshcentral'].map(async (name) => {
    const face = name === 'meshcentral' ? 'plugin/meshcentral' : `${name}/index`
    return { name: `mesh-companion/${name}`, ...(await exportsOf(face)) }
  }),
)

/** What somebody writes who uses the package, and after it one import of every name. */
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
  secret: 'sixteen or more characters',
}
const oidc = await registerOidc(express(), { config: {}, host })
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

describe('the package as it is installed', () => {
  let tarballs: string
  let project: Project
  before(async () => {
    tarballs = await mkdtemp(join(tmpdir(), 'tarball-'))
    project = await installPackage(packPackage(tarballs))
  }).timeout(120_000)
  after(async () => {
    await project?.remove()
    await rm(tarballs, { recursive: true, force: true })
  })

  it('holds what its manifest names, documents and what operators install, and no source or test', () => {
    const named = [
      ...Object.values(PACKAGE.exports).flatMap((target) =>
        typeof target === 'string' ? [target] : [target.types, target.default],
      ),
      ...Object.values(PACKAGE.bin),
    ].map((path) => path.replace('./', ''))
    expect(project.shipped).to.include.members([...named, 'README.md', 'CHANGELOG.md', 'LICENSE'])
    const places = new Set(project.shipped.map((path) => path.split('/').slice(0, 2).join('/')))
    expect([...places]).to.have.members([
      'dist/plugin',
      'dist/sidecar',
      'sidecar/deploy',
      'README.md',
      'CHANGELOG.md',
      'LICENSE',
      'package.json',
    ])
    expect(
      project.shipped.filter((path) => path.startsWith('dist/') && !/\.(js|js\.map|d\.ts)$/.test(path)),
    ).to.deep.equal([])
  })

  for (const [resolution, module] of [
    ['nodenext', 'nodenext'],
    ['bundler', 'esnext'],
  ]) {
    for (const skipLibCheck of [true, false]) {
      it(`compiles where it is used, with ${resolution} and skipLibCheck ${skipLibCheck}`, async () => {
        await project.write('program.ts', `${PROGRAM}\n${IMPORTS}\n`)
        const options = ['--strict', '--target', 'es2023', '--lib', 'es2023', '--types', 'node']
        const how = [
          '--module',
          `${module}`,
          '--moduleResolution',
          `${resolution}`,
          '--skipLibCheck',
          `${skipLibCheck}`,
        ]
        const { status, stdout } = project.compile(...options, ...how, 'program.ts')
        expect([status, stdout]).to.deep.equal([0, ''])
      }).timeout(60_000)
    }
  }

  it('gives every name that it exports, by import and by require', () => {
    for (const [kind, load] of [
      ['module', 'await import'],
      ['commonjs', 'require'],
    ]) {
      for (const { name, values } of FACES) {
        const code = `console.log(JSON.stringify(Object.keys(${load}('${name}'))))`
        const { status, stdout, stderr } = project.node(`--input-type=${kind}`, '--no-warnings', '-e', code)
        expect({ status, stderr }, `${load} ${name}`).to.deep.equal(DONE)
        expect(JSON.parse(stdout).filter((key: string) => key !== '__esModule')).to.have.members(values)
      }
    }
  }).timeout(60_000)

  it('brings its commands, which tell their version and explain themselves', () => {
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

  it('checks a configuration of each half', async () => {
    const oidc = { issuer: 'https://idp.example', client: { client_id: 'mesh', client_secret: 'secret' } }
    const config = { settings: { cert: 'mesh.example' }, domains: { '': { authStrategies: { oidc } } } }
    await project.write('config.json', JSON.stringify(config))
    await project.write('sidecar.json', JSON.stringify({ aprsis: { callsign: 'N0CALL-10' }, database: ':memory:' }))
    expect(project.bin('mesh-companion-check', 'config.json')).to.include(DONE)
    expect(project.bin('mesh-companion-sidecar', '--config', 'sidecar.json', '--check')).to.include(DONE)
  }).timeout(60_000)

  it('has an entry for its version in the log of changes', async () => {
    const [newest] = [...(await read('CHANGELOG.md')).matchAll(/^## \[([\d.]+)\] - \d{4}-\d\d-\d\d$/gm)]
    expect(newest?.[1]).to.equal(PACKAGE.version)
  })
})
