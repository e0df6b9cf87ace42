import { expect } from 'chai'
import express, { type RequestHandler } from 'express'
import { recordsInMemory } from '../../../fixtures/host/accounts-memory.ts'
import { expressSessions, type Host, registerOidc } from '../../../plugin/index.ts'
import type { HostApp } from '../../../plugin/routes/route-table.ts'

const client = { client_id: 'mesh', client_secret: 'of the tests', redirect_uri: 'https://mesh.test/signed-in' }
const CONFIG = {
  settings: { cert: 'mesh.test' },
  domains: { '': { authStrategies: { oidc: { issuer: 'https://idp.invalid', client } } } },
}
const HOST: Host = {
  ...recordsInMemory(),
  sessions: expressSessions(),
  loginPage: { showFailure: () => undefined },
  authLog: () => undefined,
}
const answer: RequestHandler = (_req, res) => void res.end()
const pass: RequestHandler = (_req, _res, next) => next()

/** Registers the plugin, and returns the paths that `route-shadowed` names and the first message. */
async function shadowedAt(app: HostApp, host: Host = HOST) {
  const lines: { readonly path: unknown; readonly message: string }[] = []
  const log = {
    info: () => undefined,
    error: () => undefined,
    warn: (event: string, message: string, fields: Readonly<Record<string, unknown>> = {}) => {
      if (event === 'route-shadowed') lines.push({ path: fields.path, message })
    },
  }
  const oidc = await registerOidc(app, { config: CONFIG, host, log })
  await oidc.close()
  return { paths: lines.map(({ path }) => path), message: lines[0]?.message }
}

describe('routes of the server that shadow routes of the plugin', () => {
  // Shows: plugin 9.46.
  it('warns at start if the server registered its own logout route before the plugin', async () => {
    const { paths, message } = await shadowedAt(express().get('/logout', answer))
    expect(paths).to.deep.equal(['/logout'])
    expect(message).to.match(/^The server has a route at \/logout .* Register the plugin first, or move /)
  })

  // Shows: plugin 9.46.
  it("warns of a server route that shadows the plugin's, in any notation or router", async () => {
    const nested = express.Router().use('/', express.Router().post('/logout', answer))
    const apps = {
      '/LogOut/': express().all('/LogOut/', answer),
      'several paths': express().get(['/bye', '/logout'], answer),
      'an expression': express().post(/^\/log(out|off)$/, answer),
      'a mounted router': express().use(nested),
      'a router of that path': express().use('/logout', express.Router().get('/', answer)),
      'a wildcard in a router of that path': express().use('/logout', express.Router().get('/{*rest}', answer)),
      'an application that is a router': express.Router().get('/logout', answer),
    }
    for (const [name, app] of Object.entries(apps))
      expect((await shadowedAt(app)).paths, name).to.deep.equal(['/logout'])
    const pluginRoutes = express().get('/signed-in', answer).post('/auth-oidc-backchannel-logout', answer)
    expect((await shadowedAt(pluginRoutes)).paths).to.have.members(['/signed-in', '/auth-oidc-backchannel-logout'])
  })

  // Shows: plugin 9.46.
  it("warns of a shadowing server route only if it is below the domain's path", async () => {
    const host: Host = { ...HOST, basePath: () => '/mesh/' }
    const below = express().use('/mesh', express.Router().get('/logout', answer))
    expect((await shadowedAt(below, host)).paths).to.deep.equal(['/mesh/logout'])
    expect((await shadowedAt(express().get('/logout', answer), host)).paths).to.deep.equal([])
  })

  // Shows: plugin 9.46.
  it('never warns of shadowing by login, middleware, wildcard, DELETE or later routes', async () => {
    const app = express()
      .use(pass)
      .use('/logout', pass)
      .use(express.Router().use(pass))
      .get('/login', answer)
      .get('/{*path}', pass)
      .all('/:page', pass)
      .delete('/logout', answer)
    expect((await shadowedAt(app)).paths).to.deep.equal([])
    const later = express()
    const { paths } = await shadowedAt(later)
    later.get('/logout', answer)
    expect(paths).to.deep.equal([])
    expect((await shadowedAt({ use: () => undefined })).paths).to.deep.equal([])
  })
})
