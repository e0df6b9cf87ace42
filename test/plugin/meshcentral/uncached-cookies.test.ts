import { expect } from 'chai'
import cookieSession from 'cookie-session'
import express from 'express'
import request from 'supertest'
import { keepCookiesFromCaches } from '../../../plugin/meshcentral/uncached-cookies.ts'
import { session } from './sessions/server-sessions.ts'

describe('cookies on answers that a cache may keep', () => {
  /** Requests a server that sets a cookie with every answer, as MeshCentral does once a minute. */
  async function answer(path: string, cacheControl?: string, { method = 'get', host = 'mesh.test', more = {} } = {}) {
    const app = express()
    app.use(cookieSession({ name: 'xid', keys: ['a key'] }), (req, res) => {
      Reflect.set(req, 'session', { userid: 'user//alice', ...more })
      if (cacheControl !== undefined) res.set('Cache-Control', cacheControl)
      res.send('content')
    })
    keepCookiesFromCaches({ app, args: { relaydns: ['relay.test'] } })
    const pending = request(app)[method as 'get'](path).set('Host', host)
    const { headers } = await pending
    const cookies = [headers['set-cookie'] ?? []].flat()
    const isSecure = cookies.length > 0 && cookies.every((cookie) => / secure/i.test(cookie))
    return { sets: cookies.length > 0, cacheControl: headers['cache-control'], isSecure }
  }

  for (const path of ['/scripts/common.js', '/a/b.min.css?v=1', '/logo.png', '/.x', '/a.ashx.png'])
    it(`a file is sent without a cookie, with any Cache-Control: ${path}`, async () => {
      for (const value of [undefined, 'public, max-age=0', 'max-age=60'])
        expect(await answer(path, value)).to.deep.include({ sets: false, cacheControl: value })
      expect((await answer(path, undefined, { method: 'head' })).sets).to.equal(false)
    })

  it('a page that Cache-Control declares public is sent without a cookie', async () => {
    expect((await answer('/page', 'Public, max-age=60')).sets).to.equal(false)
  })

  for (const path of [
    '/',
    '/refresh.ashx',
    '/refresh.ashx?x=a.js',
    '/a.b/',
    '/a.b/page',
    '/login',
    '/login?return=/a.png',
  ])
    it(`a page that renews the session cookie gets Cache-Control: private: ${path}`, async () => {
      expect(await answer(path)).to.deep.include({ sets: true, cacheControl: 'private' })
      expect(await answer(path, 'max-age=60')).to.deep.include({ sets: true, cacheControl: 'max-age=60, private' })
    })

  it('private pages, answers to POST and web relays may set cookies', async () => {
    for (const value of ['no-store', 'private, max-age=60'])
      expect(await answer('/a.js', value)).to.deep.include({ sets: true, cacheControl: value })
    expect((await answer('/a.js', undefined, { method: 'post' })).sets).to.equal(true)
    expect((await answer('/a.js', undefined, { host: 'relay.test:443' })).sets).to.equal(true)
  })

  it('an empty session sets no cookie, but clears one that the request sent', async () => {
    const app = express()
    app.use(cookieSession({ name: 'xid', keys: ['a key'] }), (req, res) => {
      // MeshCentral does this for passport. Such a session counts as filled.
      Object.assign(Reflect.get(req, 'session') as object, { save: () => undefined, userid: undefined })
      res.append('Set-Cookie', 'other=1')
      res.send('content')
    })
    keepCookiesFromCaches({ app })
    const namesFor = async (cookie: string) => {
      const { headers } = await request(app).get('/').set('Cookie', cookie)
      return [headers['set-cookie'] ?? []].flat().map((set) => set.split('=')[0])
    }
    expect(await namesFor('another=1')).to.deep.equal(['other'])
    expect(await namesFor('another=1; xid=e30=')).to.include.members(['other', 'xid', 'xid.sig'])
  })

  it('adds Secure to session cookies of the plugin, and to no others', async () => {
    const more = { oidcSignIn: session('h').signIn }
    expect((await answer('/', undefined, { more })).isSecure).to.equal(true)
    expect((await answer('/', undefined, { method: 'post', more })).isSecure).to.equal(true)
    expect((await answer('/')).isSecure).to.equal(false)
  })
})
