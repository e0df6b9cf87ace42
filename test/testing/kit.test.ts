import { expect } from 'chai'
import { codeBlocks, readDocument } from '../support/documents.ts'
import { makeProject, type Project, program } from './installed.ts'

const PAGE = readDocument('plugin/docs/testing.md')

describe('the test kit of the built package', function () {
  this.timeout(60_000)
  let project: Project
  before(async () => {
    project = await makeProject()
  })
  after(() => project?.remove())

  it('says what to install where a server needs a package that is not there, and starts the others', async () => {
    const program = `
      import { startApns, startAprsIs, startIdp } from 'mesh-companion/testing'
      const said = (error) => error.message
      const aprsis = await startAprsIs()
      console.log(JSON.stringify([await startIdp().catch(said), await startApns().catch(said), aprsis.url]))
      await aprsis.close()`
    await project.write('without.js', program)
    const said = JSON.parse(await project.node('without.js')) as string[]
    expect(said).to.have.length(3)
    expect(said[0]).to.match(/needs the package oidc-provider: npm install --save-dev oidc-provider$/)
    expect(said[1]).to.match(/needs the package selfsigned: npm install --save-dev selfsigned$/)
    expect(said[2]).to.match(/^tcp:\/\/127\.0\.0\.1:\d+$/)
  })

  it('has types that need no other types than those of Node', async () => {
    await project.add('@types/node')
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
    const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2022', '--types', 'node']
    await project.node(program('typescript/bin/tsc'), ...options, '--skipLibCheck', 'false', 'types.ts')
  })

  it('passes the test that the documents show, with mocha and supertest', async () => {
    const [example = ''] = codeBlocks(PAGE, 'js')
    expect(example.trim().split('\n').length).to.be.within(20, 40)
    await project.add('oidc-provider', 'supertest', 'express-session')
    await project.write('example.test.js', example)
    const told = await project.node(
      program('mocha/bin/mocha.js'),
      '--no-config',
      '--timeout',
      '20000',
      'example.test.js',
    )
    expect(told).to.include('1 passing')
  })
})
