import { createServer } from 'node:http'
import express, { type RequestHandler } from 'express'
import { ScriptedBrowser } from '../../../fixtures/browser.ts'
import type { SessionFilter, Sessions, SignIn } from '../../../plugin/host/port.ts'
import { type OnLoopback, onLoopback } from '../../support/on-loopback.ts'

/** The sessions under test, and the middleware of their library. */
export interface SessionsUnderTest {
  readonly sessions: Sessions
  readonly middleware: RequestHandler
}

/** The answer of a route: the result of the call, or its error. */
export interface Outcome {
  readonly result?: unknown
  readonly error?: string
}

/**
 * Returns helpers for servers with routes that call sessions, and for browsers. All are closed after each test. Call it
 * inside a `describe`.
 */
export function sessionServers() {
  const servers: OnLoopback[] = []
  const browsers: ScriptedBrowser[] = []
  let url = ''

  afterEach(async () => {
    for (const browser of browsers.splice(0)) browser.close()
    for (const server of servers.splice(0)) await server.close()
  })

  /** Starts a server for the following calls. @param pause delays requests to fill the basket */
  async function serve(under: SessionsUnderTest, pause: () => Promise<unknown> = async () => undefined): Promise<void> {
    const { sessions, middleware } = under
    const app = express()
    app.use(express.json(), middleware)
    const answer =
      (work: (...args: Parameters<RequestHandler>) => Promise<unknown>): RequestHandler =>
      async (...args) => {
        const [, res] = args
        await work(...args).then(
          (result) => res.json({ result: result ?? null }),
          (error: Error) => res.json({ error: error.message }),
        )
      }
    const routes: Readonly<Record<string, Parameters<typeof answer>[0]>> = {
      start: async (req, res) => {
        await sessions.start(req, res, req.body as SignIn)
        return sessions.current(req)
      },
      fill: async (req) => {
        Object.assign(req.session as object, { basket: 'full' })
        await pause()
      },
      basket: async (req) => Reflect.get(req.session as object, 'basket'),
      end: (req, res) => sessions.end(req, res),
      ended: (req) => sessions.endMatching(req, req.body as SessionFilter),
      matching: async (req) => {
        const matches = await sessions.matching?.(req, req.body as SessionFilter)
        return matches && Promise.all(matches.map(async ({ signIn, read }) => ({ ...signIn, ...(await read()) })))
      },
      'end-one': async (req) => {
        const { sid, ...filter } = req.body as SessionFilter
        const matches = await sessions.matching?.(req, { ...filter, sid: null })
        await matches?.find(({ signIn }) => signIn.sid === sid)?.end()
      },
      current: (req) => sessions.current(req),
    }
    for (const [name, work] of Object.entries(routes)) app.post(`/${name}`, answer(work))
    const server = await onLoopback(createServer(app))
    servers.push(server)
    url = server.url
  }

  const newBrowser = () => {
    const browser = new ScriptedBrowser()
    browsers.push(browser)
    return browser
  }
  const cookiesOf = (browser: ScriptedBrowser) => browser.cookies.matching(new URL(url))
  async function call(browser: ScriptedBrowser, route: string, body: object = {}): Promise<Outcome> {
    const cookie = browser.cookies.header(new URL(url))
    const response = await fetch(`${url}/${route}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...(cookie === undefined ? {} : { cookie }) },
    })
    browser.cookies.store(new URL(url), response.headers.getSetCookie())
    return (await response.json()) as Outcome
  }
  return {
    serve,
    newBrowser,
    cookiesOf,
    call,
    current: async (browser: ScriptedBrowser): Promise<SignIn | null> =>
      (await call(browser, 'current')).result as SignIn | null,
    /** Returns a browser with copies of the current cookies. */
    copyOf(browser: ScriptedBrowser): ScriptedBrowser {
      const copy = newBrowser()
      for (const { name, value } of cookiesOf(browser)) copy.cookies.plant(new URL(url), name, value)
      return copy
    },
  }
}

/** Returns the sign-in of a login at `startedAt`. */
export function signInAt(startedAt: number, changes: Partial<SignIn> = {}): SignIn {
  return {
    domainKey: '',
    userId: '~oidc:u-1',
    issuer: 'https://idp.example',
    subject: 'u-1',
    sid: 's-1',
    startedAt,
    idToken: 'header.claims.signature',
    tokens: {
      access: 'an access token',
      accessExpiresAt: startedAt + 60_000,
      refresh: 'a refresh token',
      offline: true,
    },
    ...changes,
  }
}
