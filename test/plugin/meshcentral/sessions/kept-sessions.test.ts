import { expect } from 'chai'
import type { Request } from 'express'
import type { OpenSession, Sessions, SignIn } from '../../../../plugin/host/port.ts'
import { keyOfHandle } from '../../../../plugin/host/revocations.ts'
import { type Ended, endedInDatabase } from '../../../../plugin/meshcentral/sessions/ended.ts'
import { keptSessions } from '../../../../plugin/meshcentral/sessions/kept-sessions.ts'
import { createOpenSessions, type OpenSessions } from '../../../../plugin/meshcentral/sessions/open-sessions.ts'
import { type SessionSecrets, sessionSecrets } from '../../../../plugin/meshcentral/sessions/session-secrets.ts'
import { maxAgeOf, meshSessions } from '../../../../plugin/meshcentral/sessions/sessions.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { standIn } from '../stand-in.ts'

const SECRET = 'a secret of the server with more than 32 characters'
const REQUEST = {} as Request

describe('the sessions of MeshCentral, with their tokens', () => {
  let ended: Ended
  let secrets: SessionSecrets
  let open: OpenSessions
  let sessions: Sessions
  /** Stands between the sessions and the database when they are written. */
  let onSet: () => Promise<unknown>

  beforeEach(async () => {
    const { server, web } = standIn()
    const { Set: set } = server.db
    onSet = async () => undefined
    server.db.Set = (record, done) => void onSet().then(() => set(record, done), done)
    const clock = new FakeClock(10_000)
    const onFailure = (error: unknown) => expect.fail(String(error))
    ended = endedInDatabase(server.db, clock)
    await ended.endedAt([])
    secrets = sessionSecrets({ db: server.db, secret: SECRET, clock, onFailure })
    open = createOpenSessions(() => clock.now(), 10)
    const options = { server, web, ended, open, secret: SECRET, clock, onFailure }
    sessions = keptSessions(meshSessions(options), { ...options, secrets, maxAgeMs: maxAgeOf(web) })
  })
  afterEach(() => {
    ended.close()
    secrets.close()
  })

  /** Somebody signed in, and was seen. */
  const begin = (handle: string, changes: Partial<SignIn> = {}) => {
    const signIn: SignIn = {
      domainKey: '',
      userId: '~oidc:1',
      issuer: 'https://idp.example',
      subject: '1',
      sid: handle,
      startedAt: 1_000,
      idToken: `ID token of ${handle}`,
      tokens: { access: `access of ${handle}`, accessExpiresAt: null, refresh: null },
      ...changes,
    }
    const { idToken: _idToken, tokens: _tokens, ...record } = signIn
    secrets.keep(signIn, handle, 100_000)
    open.seen({ signIn: { ...record, handle }, user: `user/${signIn.domainKey}/${signIn.userId}`, x: handle })
    return signIn
  }
  const inUse = async (domainKey: string, before = 9_000) => {
    const found: OpenSession[] = []
    for await (const one of sessions.inUse?.(domainKey, before) ?? []) found.push(one)
    return found
  }
  const matching = async (subject: string) => {
    const those = { domainKey: '', issuer: 'https://idp.example', subject, sid: null }
    return (await sessions.matching?.(REQUEST, those)) ?? []
  }

  it('are told of by person, and those in use by domain', async () => {
    const [first, second, other] = [begin('a'), begin('b'), begin('c', { subject: '2', userId: '~oidc:2' })]
    const elsewhere = begin('d', { domainKey: 'other' })
    expect((await matching('1')).map(({ signIn }) => signIn)).to.deep.equal([first, second])
    expect((await inUse('')).map(({ signIn }) => signIn)).to.deep.equal([first, second, other])
    expect((await inUse('other')).map(({ signIn }) => signIn)).to.deep.equal([elsewhere])
    // Who was not taken is still due.
    for (const { taken } of (await inUse('')).slice(1)) taken?.(true)
    expect((await inUse('')).map(({ signIn }) => signIn)).to.deep.equal([first])
  })

  it('end one by one, and their tokens with them', async () => {
    begin('a')
    const stays = begin('b')
    const [one] = await matching('1')
    expect(await one?.end()).to.equal(true)
    expect(ended.latest([keyOfHandle('a')])).to.equal(10_000)
    expect(ended.latest([keyOfHandle('b')])).to.equal(undefined)
    expect(await secrets.read('a')).to.deep.equal({ idToken: null, tokens: null })
    expect((await matching('1')).map(({ signIn }) => signIn)).to.deep.equal([stays])
  })

  it('do not end by what was learnt of tokens that were renewed meanwhile', async () => {
    begin('a')
    const [asked, same] = [...(await matching('1')), ...(await matching('1'))]
    const fresh = { access: 'new', accessExpiresAt: null, refresh: 'next' }
    const renewed = await same?.renewed?.(fresh)
    expect(renewed?.signIn.tokens).to.deep.equal(fresh)
    expect(await asked?.end()).to.equal(false)
    const [now] = await matching('1')
    expect(now?.signIn).to.deep.include({ tokens: fresh, idToken: 'ID token of a' })
    expect(await renewed?.end()).to.equal(true)
    expect(await matching('1')).to.deep.equal([])
  })

  describe('whose renewed tokens the database', () => {
    const fresh = { access: 'new', accessExpiresAt: null, refresh: 'next' }
    const full = new Error('the disk is full')
    const tokensOf = async () => (await matching('1')).map(({ signIn }) => signIn.tokens)

    it('does not take are asked about and end by these, and by nothing that was learnt of those before', async () => {
      begin('a')
      const [asked, same] = [...(await matching('1')), ...(await inUse(''))]
      onSet = () => Promise.reject(full)
      const failure = await same?.renewed?.(fresh).catch((error: unknown) => error)
      expect(failure).to.have.property('cause', full)
      expect(await tokensOf()).to.deep.equal([fresh])
      expect(await asked?.end()).to.equal(false)
      expect(await matching('1')).to.have.length(1)
      onSet = async () => undefined
      expect(await same?.end()).to.equal(true)
      expect(await matching('1')).to.deep.equal([])
    })

    it('does not take are written when they are next in use, and nothing is told where that fails', async () => {
      begin('a')
      onSet = () => Promise.reject(full)
      for (const one of await inUse('')) await one.renewed?.(fresh).catch(() => undefined)
      expect((await inUse('')).map(({ signIn }) => signIn.tokens)).to.deep.equal([fresh])
      expect((await secrets.read('a')).tokens).to.not.deep.equal(fresh)
      onSet = async () => undefined
      await inUse('')
      expect(await secrets.read('a')).to.deep.equal({ idToken: 'ID token of a', tokens: fresh })
      const again = { ...fresh, access: 'newer' }
      await secrets.replace('a', { idToken: null, tokens: again })
      expect(await tokensOf()).to.deep.equal([again])
    })

    it('is still taking do not end by what was learnt of those before', async () => {
      begin('a')
      const [asked, same] = [...(await matching('1')), ...(await matching('1'))]
      const writes: (() => void)[] = []
      onSet = () => new Promise<void>((resolve) => writes.push(resolve))
      const work = same?.renewed?.(fresh)
      expect(await asked?.end()).to.equal(false)
      expect(await tokensOf()).to.deep.equal([fresh])
      for (const goOn of writes) goOn()
      await work
      expect(await secrets.read('a')).to.deep.include({ tokens: fresh })
    })

    it('does not take are those that a logout revokes', async () => {
      begin('a')
      onSet = () => Promise.reject(full)
      for (const one of await inUse('')) await one.renewed?.(fresh).catch(() => undefined)
      const [own] = open.find([keyOfHandle('a')])
      const session = { oidcSignIn: own?.signIn, userid: own?.user, x: own?.x }
      expect(await sessions.kept?.({ session } as unknown as Request)).to.deep.equal({
        idToken: 'ID token of a',
        tokens: fresh,
      })
    })

    it('does not take are gone with the session', async () => {
      begin('a')
      onSet = () => Promise.reject(full)
      const [same] = await inUse('')
      await same?.renewed?.(fresh).catch(() => undefined)
      onSet = async () => undefined
      await sessions.endMatching(REQUEST, { domainKey: '', issuer: 'https://idp.example', subject: '1', sid: null })
      expect(await same?.end()).to.equal(false)
    })
  })

  it('lose their tokens with all sessions that an IdP has ended', async () => {
    begin('a')
    begin('b', { subject: '2', userId: '~oidc:2' })
    await sessions.endMatching(REQUEST, { domainKey: '', issuer: 'https://idp.example', subject: '1', sid: null })
    expect((await secrets.read('a')).tokens).to.equal(null)
    expect((await secrets.read('b')).tokens).to.not.equal(null)
  })
})
