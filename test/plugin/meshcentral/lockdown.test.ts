import { expect } from 'chai'
import express, { type RequestHandler } from 'express'
import request from 'supertest'
import { Lockdown } from '../../../plugin/meshcentral/lockdown.ts'
import type { MeshCookie } from '../../../plugin/meshcentral/server.ts'

describe('single sign-on accounts before session checks are active', () => {
  const unseal = (sealed: unknown): MeshCookie | null =>
    typeof sealed === 'string' ? { userid: sealed, x: 'x' } : (sealed as MeshCookie | null)

  function open() {
    const app = express()
    let sessionOfRequest: object | null = null
    let requestMembers: object = { xdomain: { id: '' }, clientIp: '192.0.2.1' }
    const session: RequestHandler = (req, _res, next) => {
      Object.assign(req, { session: sessionOfRequest, ...requestMembers })
      next()
    }
    app.use(session)
    const sealing = { encodeCookie: () => 'sealed', decodeCookie: unseal }
    const server = { ...sealing }
    const dropped: string[] = []
    const missing: string[] = []
    const door = new Lockdown(server, {
      onDropped: (user) => void dropped.push(user),
      onMissing: (names) => void missing.push(...names),
    })
    door.mount({ app }, ['/'])
    app.get('/', (req, res) => void res.json(Reflect.get(req, 'session')))
    const sessionLeft = async (userid?: string) => {
      sessionOfRequest = userid === undefined ? null : { userid, x: 'x' }
      return (await request(app).get('/')).body as object | null
    }
    return {
      app,
      door,
      dropped,
      missing,
      note: (members: object) => {
        requestMembers = members
      },
      sealing,
      sessionLeft,
      decode: (sealed: unknown) => server.decodeCookie(sealed),
    }
  }

  it('refuses single sign-on accounts until session checks are active; logs this once', async () => {
    const { dropped, sessionLeft, decode } = open()
    for (const user of ['user//~oidc:1', 'user/other/~oidc:a/b']) {
      expect(await sessionLeft(user)).to.deep.equal({})
      for (const sealed of [user, { ruserid: user }, { a: 3, u: user }, { userid: user, nid: 'n', pid: 'p' }])
        expect(decode(sealed)).to.equal(null)
    }
    expect(dropped).to.deep.equal(['user//~oidc:1'])
  })

  it('admits accounts without single sign-on even before session checks are active', async () => {
    const { dropped, sessionLeft, decode } = open()
    for (const user of ['user//admin', 'user//~saml:1', 'user//x~oidc:1']) {
      expect(await sessionLeft(user)).to.deep.equal({ userid: user, x: 'x' })
      expect(decode(user)).to.deep.equal({ userid: user, x: 'x' })
    }
    expect(await sessionLeft()).to.equal(null)
    expect(decode(null)).to.equal(null)
    expect(decode({ a: 3 })).to.deep.equal({ a: 3 })
    expect(dropped).to.deep.equal([])
  })

  it('admits single sign-on accounts only in domains with active session checks', async () => {
    const { door, sealing, sessionLeft, decode } = open()
    door.liftFor(new Set(['']), sealing)
    expect(await sessionLeft('user//~oidc:1')).to.deep.equal({ userid: 'user//~oidc:1', x: 'x' })
    expect(decode('user//~oidc:1')).not.to.equal(null)
    expect(await sessionLeft('user/other/~oidc:1')).to.deep.equal({})
    expect(decode('user/other/~oidc:1')).to.equal(null)
  })

  it('refuses single sign-on accounts again if a request lacks xdomain or clientIp', async () => {
    const { door, missing, note, sealing, sessionLeft } = open()
    door.liftFor(new Set(['']), sealing)
    note({ clientIp: 1 })
    expect(await sessionLeft('user//~oidc:1')).to.deep.equal({})
    expect(missing).to.deep.equal(['xdomain', 'clientIp'])
    expect(door.isLifted()).to.equal(false)
  })

  it("refuses a single sign-on user's session cookie that MeshCentral did not decode", async () => {
    const { app, note } = open()
    note({ session: undefined })
    const xid = (userid: string) => `a=b; xid=${Buffer.from(JSON.stringify({ userid })).toString('base64')}; c=d`
    const statusFor = async (user: string) => (await request(app).get('/').set('Cookie', xid(user))).status
    expect(await statusFor('user//~oidc:1')).to.equal(401)
    expect(await statusFor('user//admin')).to.equal(200)
  })
})
