import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { pluginLines } from './support/auth-log.ts'
import { alteredProgram, packedProgram } from './support/data-folder.ts'
import type { ServerOptions } from './support/mesh-setup.ts'
import { buttonsOf, isSignedIn, signedIn } from './support/session.ts'
import { until } from './support/until.ts'
import { useMesh } from './support/use-mesh.ts'

/** Each a start at which the guard cannot get to work: what is done to MeshCentral before the plugin sets itself up, or to its configuration, and what the log says of it. */
const GIVEN_UP: readonly (readonly [string, () => Promise<ServerOptions>, said?: string])[] = [
  [
    'a part of MeshCentral is missing',
    async () => ({ program: await alteredProgram('web.CloneSafeUser = null') }),
    'CloneSafeUser',
  ],
  [
    'the start fails',
    async () => ({
      program: await alteredProgram(
        `const { use } = web.app
         let times = 0
         web.app.use = (...handlers) => {
           times += 1
           if (times === 3) throw new Error('no more room')
           return use.apply(web.app, handlers)
         }`,
      ),
    }),
    'no more room',
  ],
  [
    'it is loaded too late',
    async () => {
      const program = await alteredProgram('')
      const marked = "handler.parent.config.domains[''].authstrategies.authStrategyFlags = 32"
      return { program: program.replace('const plugin = genuine', `${marked}; const plugin = genuine`) }
    },
  ],
  [
    'the oidc object of the domain was taken out',
    async () => ({ program: await packedProgram(), domains: { '': { oidc: null } } }),
  ],
]

describe('a session of single sign-on that is kept', () => {
  const setup = useMesh()
  let cookies: ReturnType<ScriptedBrowser['cookies']['matching']>
  let auth: string
  before(async () => {
    const browser = await signedIn(setup, setup.person())
    auth = (await setup.open(browser)).auth
    cookies = browser.cookies.matching(new URL(setup.url))
  })

  for (const [what, options, said] of GIVEN_UP)
    it(`signs nobody in where ${what}: neither by its cookie nor by what its page was given`, async () => {
      const before = (await pluginLines(setup)).length
      await setup.restart(await options())
      const lineOf = (wanted: string) =>
        until('the line', async () => (await pluginLines(setup)).slice(before).find(({ event }) => event === wanted))
      const browser = setup.browser()
      for (const { name, value } of cookies) browser.cookies.plant(new URL(setup.url), name, value)
      expect(await isSignedIn(setup, browser)).to.equal(false)
      expect(await setup.verdictOn(auth)).to.equal('refused')
      expect((await lineOf('session-dropped')).message).to.include('~oidc:')
      if (said === undefined) return
      const line = await lineOf('not-taken-over')
      expect(line.level).to.equal('ERROR')
      expect(line.message).to.include(said)
      // The server goes on without single sign-on.
      expect(await buttonsOf(setup)).to.deep.equal([])
      for (const path of ['auth-oidc', 'auth-oidc-callback?code=1&state=2']) {
        expect((await setup.browser().step(setup.url + path)).status).to.equal(404)
      }
    })

  it('is left to MeshCentral where the file of the plugin is cut off, whose console then says so', async () => {
    await setup.restart({ program: (await packedProgram()).slice(0, 100_000), domains: { '': {} } })
    expect(setup.server().output()).to.match(/Error loading plugin: meshcompanion .*It has been disabled/)
    // Nothing of ours runs, so nothing of ours can prevent it.
    expect(await buttonsOf(setup)).to.deep.equal(['oidc'])
  })
})
