import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { until } from '../support/until.ts'
import { pluginLines } from './support/auth-log.ts'
import { alteredProgram, packedProgram } from './support/data-folder.ts'
import type { ServerOptions } from './support/mesh-setup.ts'
import { type Move, movedInstallation } from './support/moved.ts'
import { buttonsOf, isSignedIn, signedIn, thiefOf } from './support/session.ts'
import { useMesh } from './support/use-mesh.ts'

const HOOK = "parent.pluginHandler.callHook('hook_setupHttpHandlers', obj, parent);"
const SESSION = "obj.app.use(require('cookie-session')(sessionOptions));"
const GET = 'obj.Get = function (id, func) {'

/** Changes to MeshCentral with which the session guard cannot work, and the text that is logged then. */
const MOVED: readonly (readonly [condition: string, logged: string, ...Move[]])[] = [
  ['CloneSafeUser is gone', 'lacks CloneSafeUser', ['webserver.js', 'CloneSafeUser', 'safeUser']],
  ['generateCookieKey is gone', 'lacks generateCookieKey', ['meshcentral.js', 'generateCookieKey', 'makeCookieKey']],
  ['the hook never comes', 'never called hook_setupHttpHandlers', ['webserver.js', HOOK, '']],
  [
    'the hook comes when routes are there',
    'had routes before it called hook_setupHttpHandlers',
    ['webserver.js', HOOK, ''],
    ['webserver.js', '// Handle 404 error', HOOK],
  ],
  [
    'encodeCookie keeps what it knows alone',
    'the content that encodeCookie sealed',
    ['meshcentral.js', 'o.time = Math.floor(', 'delete o.oidcSession; o.time = Math.floor('],
  ],
  [
    'the web server opens cookies by another function',
    'does not open cookies with',
    ['meshcentral.js', 'obj.decodeCookie = ', 'obj.openSealed = obj.decodeCookie = '],
    ['webserver.js', '.decodeCookie(', '.openSealed('],
  ],
  [
    'the database answers with a record instead of a list',
    'db.Get answers in an unknown form',
    [
      'db.js',
      GET,
      `${GET} if (id == 'LoginCookieEncryptionKey') { const f = func; func = (e, docs) => f(e, docs[0]); }`,
    ],
  ],
  ['a request has no clientIp', 'on a request it lacks clientIp', ['webserver.js', '.clientIp', '.clientAddress']],
  ['a request has no xdomain', 'on a request it lacks xdomain', ['webserver.js', 'req.xdomain', 'req.ydomain']],
  [
    'a request has no session',
    'on a request it lacks session',
    ['webserver.js', /\breq\.session\b/g, 'req.ownSession'],
    [
      'webserver.js',
      SESSION,
      `${SESSION} obj.app.use((req, res, next) => { req.ownSession = req['session']; Object.defineProperty(req, 'session', { value: undefined }); next() })`,
    ],
  ],
]

describe('an existing single sign-on session while the plugin is inactive', () => {
  const setup = useMesh()
  let browser: ScriptedBrowser
  let auth: string
  before(async () => {
    browser = await signedIn(setup, setup.person())
    auth = (await setup.open(browser)).auth
  })

  /**
   * Restarts MeshCentral with a change to MeshCentral, the plugin or the configuration, so that the session guard
   * cannot work.
   */
  const signsNobodyIn = (condition: string, logged: string | undefined, options: () => Promise<ServerOptions>) =>
    it(`refuses all single sign-on logins if ${condition}`, async () => {
      const countBefore = (await pluginLines(setup)).length
      await setup.restart({ installation: undefined, ...(await options()) })
      const lineOf = (wanted: string) =>
        until('the line', async () =>
          (await pluginLines(setup)).slice(countBefore).find(({ event }) => event === wanted),
        )
      expect(await isSignedIn(setup, thiefOf(setup, browser))).to.equal(false)
      expect(await setup.verdictOn(auth)).to.equal('refused')
      expect((await lineOf('session-dropped')).message).to.include('~oidc:')
      if (logged === undefined) return
      const line = await lineOf('not-taken-over')
      expect(line.level).to.equal('ERROR')
      expect(line.message).to.include(logged)
      // The server runs on without single sign-on.
      expect(await buttonsOf(setup)).to.deep.equal([])
      for (const path of ['auth-oidc', 'auth-oidc-callback?code=1&state=2']) {
        expect((await setup.browser().step(setup.url + path)).status).to.equal(404)
      }
    })

  for (const [condition, logged, ...moves] of MOVED) {
    signsNobodyIn(condition, logged, async () => ({
      installation: await movedInstallation(moves),
      program: await packedProgram(),
    }))
  }
  signsNobodyIn("the plugin's start fails", 'no more room', async () => ({
    program: await alteredProgram(
      `const { use } = web.app
       let times = 0
       web.app.use = (...handlers) => {
         times += 1
         if (times === 3) throw new Error('no more room')
         return use.apply(web.app, handlers)
       }`,
    ),
  }))
  signsNobodyIn('the plugin is loaded too late', undefined, async () => {
    const program = await alteredProgram('')
    const marked = "handler.parent.config.domains[''].authstrategies.authStrategyFlags = 32"
    return { program: program.replace('const plugin = genuine', `${marked}; const plugin = genuine`) }
  })
  signsNobodyIn('the oidc object of the domain was removed', undefined, async () => ({
    program: await packedProgram(),
    domains: { '': { oidc: null } },
  }))

  it('MeshCentral disables a plugin whose file is truncated, and logs that', async () => {
    await setup.restart({
      installation: undefined,
      program: (await packedProgram()).slice(0, 100_000),
      domains: { '': {} },
    })
    expect(setup.server().output()).to.match(/Error loading plugin: meshcompanion .*It has been disabled/)
    // The login page still offers single sign-on. The plugin cannot prevent this, because none of its code runs.
    expect(await buttonsOf(setup)).to.deep.equal(['oidc'])
  })
})
