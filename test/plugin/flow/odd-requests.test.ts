import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import express from 'express'
import session from 'express-session'
import { type Idp, startIdp } from '../../../fixtures/idp/server.ts'
import { expressSessions } from '../../../plugin/index.ts'
import { type OwnServer, startOwnServer } from '../../support/own-server.ts'

const ROUTES = [
  'auth-oidc',
  'auth-oidc-callback',
  'auth-oidc-google-callback',
  'auth-oidc-azure-callback',
  'logout',
  'auth-oidc-backchannel-logout',
  'auth-oidc-frontchannel-logout',
  'auth-oidc-jwks',
]
const NAMES = [
  'iss',
  'sid',
  'login_hint',
  'return',
  'target_link_uri',
  'state',
  'code',
  'error',
  'response',
  'logout_token',
]
const SHAPES = [
  '[toString]=x',
  '[toString][valueOf]=x',
  '[__proto__][toString]=x',
  '[constructor]=x',
  '[length]=9',
  '[]=a&$[]=b',
  '[a][b][c]=d',
  '=a&$=b',
  '=%00%FF%E0',
]
const JSON_VALUES: readonly unknown[] = [
  { toString: 'x' },
  { toString: null, valueOf: 1 },
  [{ toString: 1 }],
  [[['a']]],
  7,
  null,
  true,
]

describe('malformed requests at a server that parses queries and bodies into objects', () => {
  let idp: Idp
  let host: OwnServer

  before(async () => {
    idp = await startIdp({})
    const app = express().set('query parser', 'extended')
    app.use(express.json(), express.urlencoded({ extended: true }))
    app.use(session({ secret: 'of a cookie', resave: false, saveUninitialized: false }))
    host = await startOwnServer({ idp, app, sessions: expressSessions() })
  })
  after(async () => {
    await host.close()
    await idp.close()
  })

  /** Expects no sign of a crash: no status 500, no stack trace, no internal error in the log. */
  function expectPlain(answer: { readonly status: number; readonly body: string }, request: string) {
    expect(answer.status, request).to.not.equal(500)
    expect(answer.body, request).to.not.match(/TypeError|at .*\.[jt]s:/)
    for (const { fields, message } of host.authLog.splice(0)) {
      expect(fields.code, request).to.not.equal('internal')
      expect(message, request).to.not.include('report it')
    }
  }
  async function send(path: string, init: RequestInit = {}) {
    const response = await fetch(host.url + path, { redirect: 'manual', ...init })
    expectPlain({ status: response.status, body: await response.text() }, `${init.method} ${path} ${init.body}`)
  }

  for (const route of ROUTES) {
    // Shows: plugin 10.27.
    it(`refuses malformed requests to ${route} without a crash`, async () => {
      const all = SHAPES.flatMap((shape) => NAMES.map((name) => name + shape.replaceAll('$', name)))
      for (const query of all) {
        await send(`${route}?${query}`)
        await send(route, { method: 'POST', body: new URLSearchParams(query) })
      }
      const headers = { 'content-type': 'application/json' }
      for (const value of JSON_VALUES) {
        const body = JSON.stringify(Object.fromEntries(NAMES.map((name) => [name, value])))
        await send(route, { method: 'POST', body, headers })
        await send(route, { method: 'POST', body: JSON.stringify([value]), headers })
      }
      await send(route, { method: 'POST', body: '{"__proto__":{"state":"x"},"iss":{"__proto__":null}}', headers })
    })
  }

  // Shows: plugin 10.27.
  it('a request without Host header (HTTP/1.0) belongs to the default domain', async () => {
    for (const route of ROUTES) {
      const socket = connect(host.port, '127.0.0.1')
      socket.end(`GET /${route} HTTP/1.0\r\n\r\n`)
      const answer = await text(socket)
      const status = Number(/^HTTP\/1\.\d (\d+)/.exec(answer)?.[1])
      expectPlain({ status, body: answer }, route)
      if (route === 'auth-oidc') expect(answer).to.include(`Location: ${idp.issuer}`)
    }
  })

  // Shows: plugin 10.27.
  it('refuses a third-party-initiated login if its iss is not a string', async () => {
    await fetch(`${host.url}auth-oidc?iss[toString]=x`, { redirect: 'manual' })
    expect(host.authLog.splice(0).map(({ fields }) => [fields.code, fields.iss])).to.deep.equal([
      ['initiation_refused', 'not one string'],
    ])
  })
})
