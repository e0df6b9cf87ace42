import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { pluginLines } from './support/auth-log.ts'
import { openControl, openPage } from './support/control-socket.ts'
import { alteredProgram, packedProgram } from './support/data-folder.ts'
import { useLaboratory } from './support/laboratory.ts'
import { type MeshSetup, type ServerOptions, setUpMesh } from './support/mesh-setup.ts'
import { isSignedIn, signedIn } from './support/session.ts'
import { until } from './support/until.ts'

useLaboratory()

/** Each a start at which the guard cannot get to work: what is done to MeshCentral before the plugin sets itself up, or to its configuration. */
const GIVEN_UP: readonly (readonly [string, () => Promise<ServerOptions>])[] = [
  ['a part of MeshCentral is missing', async () => ({ program: await alteredProgram('web.CloneSafeUser = null') })],
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
  let setup: MeshSetup
  let cookies: ReturnType<ScriptedBrowser['cookies']['matching']>
  let auth: string
  before(async () => {
    setup = await setUpMesh()
    const browser = await signedIn(setup, setup.person())
    const page = await openPage(setup, browser)
    page.close()
    auth = page.auth
    cookies = browser.cookies.matching(new URL(setup.url))
  })
  after(() => setup?.close())

  for (const [what, options] of GIVEN_UP)
    it(`signs nobody in where ${what}: neither by its cookie nor by what its page was given`, async () => {
      const before = (await pluginLines(setup)).length
      await setup.restart(await options())
      const browser = setup.browser()
      for (const { name, value } of cookies) browser.cookies.plant(new URL(setup.url), name, value)
      expect(await isSignedIn(setup, browser)).to.equal(false)
      const socket = openControl(setup, { auth })
      const { cause } = await socket.message(({ action }) => ['userinfo', 'close'].includes(String(action)))
      expect(cause).to.equal('noauth')
      socket.close()
      const line = await until('the line', async () =>
        (await pluginLines(setup)).slice(before).find(({ event }) => event === 'session-dropped'),
      )
      expect(line.message).to.include('~oidc:')
    })
})
