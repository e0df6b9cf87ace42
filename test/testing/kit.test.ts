import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { codeBlocks, readDocument } from '../support/documents.ts'
import { installByNpm, type NpmProject, packPackage } from '../support/installed-package.ts'

const PAGE = readDocument('plugin/docs/testing.md')
/** The packages that the page tells the reader to install. */
const PAGE_PACKAGES = [...PAGE.matchAll(/`npm install (?:--save-dev )?([^`]+)`/g)].flatMap(([, names = '']) =>
  names.split(' '),
)
const DONE = { status: 0, stderr: '' }
const STRICT = ['--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node', '--skipLibCheck', 'false']

describe('The packed test kit', function () {
  this.timeout(300_000)
  let project: NpmProject
  before(async function () {
    const installed = await installByNpm(packPackage())
    if (!installed) {
      console.log('      Left out: npm reaches no registry here.')
      return this.skip()
    }
    project = installed
  })
  after(() => project?.remove())

  /** Writes the page's test as it stands, with changes if given, and runs it with the defaults of mocha. */
  async function runExample(changed: (example: string) => string = (example) => example) {
    const [example = ''] = codeBlocks(PAGE, 'js')
    expect(example.trim().split('\n').length).to.be.within(20, 60)
    await project.write('server.test.mjs', changed(example))
    return project.node('node_modules/mocha/bin/mocha.js', 'server.test.mjs')
  }

  it('a test kit server names its missing package, and the other servers still start', async () => {
    const program = `
      import { startApns, startAprsIs, startIdp } from 'mesh-companion/testing'
      const messageOf = (error) => error.message
      const aprsis = await startAprsIs()
      console.log(JSON.stringify([await startIdp().catch(messageOf), await startApns().catch(messageOf), aprsis.url]))
      await aprsis.close()`
    await project.write('without.js', program)
    const ran = project.node('without.js')
    expect(ran).to.include(DONE)
    const results = JSON.parse(ran.stdout) as string[]
    expect(results).to.have.length(3)
    expect(results[0]).to.match(/needs the package oidc-provider: npm install --save-dev oidc-provider$/)
    expect(results[1]).to.match(/needs the package selfsigned: npm install --save-dev selfsigned$/)
    expect(results[2]).to.match(/^tcp:\/\/127\.0\.0\.1:\d+$/)
  })

  it('the types of the test kit need no other types than those of Node.js', async () => {
    await project.write(
      'types.ts',
      `import { type Idp, startAprsIs, startApns, startFcm, startIdp, startWebPush, VirtualClock } from 'mesh-companion/testing'
       const idp: Idp = await startIdp({ clients: [{ client_id: 'mesh', redirect_uris: ['http://127.0.0.1/'] }] })
       const back: URL = await idp.signIn('http://127.0.0.1/', 'alice')
       const clock = new VirtualClock()
       export const started = [back, startAprsIs({ clock }), startApns(), startFcm(), startWebPush()]
       // @ts-expect-error There is no such endpoint.
       idp.faults.set('nowhere', { kind: 'hang' })`,
    )
    await project.add('@types/node@latest')
    const { status, stdout } = project.compile(...STRICT, 'types.ts')
    expect({ status, stdout }).to.deep.equal({ status: 0, stdout: '' })
  })

  it('the types of all entry points compile with the newest Node.js types', async () => {
    const { exports } = JSON.parse(await readFile('package.json', 'utf8')) as { exports: Record<string, unknown> }
    const code = Object.keys(exports).filter((path) => !path.endsWith('.json'))
    expect(code).to.include('./plugin').and.to.include('./sidecar')
    const lines = code.map((path, index) => `export * as all${index} from '${path.replace('.', 'mesh-companion')}'`)
    await project.write('all.ts', lines.join('\n'))
    await project.add('@types/node@latest', '@types/express')
    const { status, stdout } = project.compile(...STRICT, 'all.ts')
    expect({ status, stdout }).to.deep.equal({ status: 0, stdout: '' })
  })

  it('with the documented packages (Express 5), the documented example test passes', async () => {
    await project.add(...PAGE_PACKAGES)
    expect(await expressVersion()).to.match(/^5\./)
    expect((await runExample()).stdout).to.include('1 passing')
  })

  it('the documented example test fails without a server, but waits for a slow one', async () => {
    const failed = await runExample((example) => example.replace('const people', "throw new Error('no start')\n$&"))
    expect(failed.status).to.equal(1)
    expect(failed.stdout).to.include('1 failing').and.include('no start')
    const wait = 'await new Promise((resolve) => setTimeout(resolve, 2_500))'
    const slow = await runExample((example) => example.replace('const people', `${wait}\n$&`))
    expect(slow.stdout).to.include('1 passing')
  })

  it('the documented example test passes on Express 4, and the types compile', async () => {
    await project.add(...PAGE_PACKAGES.filter((name) => name !== 'express'), 'express@4', '@types/express@4')
    expect(await expressVersion()).to.match(/^4\./)
    expect((await runExample()).stdout).to.include('1 passing')
    await project.write(
      'express-4.ts',
      `import express from 'express'
       import { expressSessions, type Host, registerOidc, requiresAuth } from 'mesh-companion/plugin'
       declare const host: Host
       const sessions = expressSessions()
       const app = express()
       app.get('/', async (req, res) => { res.json(await sessions.current(req)) })
       export const oidc = await registerOidc(app, { config: {}, host })
       app.get('/mine', requiresAuth(oidc), (_req, res) => { res.json(res.locals.account) })
       app.get('/state', async (req, res) => { res.json(await oidc.introspect(req)) })`,
    )
    const { status, stdout } = project.compile(...STRICT, 'express-4.ts')
    expect({ status, stdout }).to.deep.equal({ status: 0, stdout: '' })
  })

  async function expressVersion(): Promise<string> {
    return project.node('-p', "require('express/package.json').version").stdout
  }
})
