import { expect } from 'chai'
import type { SignIn } from '../../../../plugin/host/port.ts'
import { keyOfHandle, keysOfFilter } from '../../../../plugin/host/revocations.ts'
import { createSeal } from '../../../../plugin/host/seal.ts'
import type { Members, MeshDatabase } from '../../../../plugin/meshcentral/server.ts'
import { SessionSecrets, type SessionSecretsOptions } from '../../../../plugin/meshcentral/sessions/session-secrets.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { databaseOf } from '../stand-in.ts'

const SECRET = 'a secret of the server with more than 32 characters'
const NOTHING = { idToken: null, tokens: null }
const LATER = 5_000
const HALF_A_DAY_MS = 12 * 60 * 60_000

const signIn = (changes: Partial<SignIn> = {}): SignIn => ({
  domainKey: '',
  userId: '~oidc:u-1',
  issuer: 'https://idp.example',
  subject: 'u-1',
  sid: 's-1',
  startedAt: 1_000,
  idToken: 'the ID token',
  tokens: { access: 'an-access-token', accessExpiresAt: 9_000, refresh: 'a-refresh-token', offline: false },
  ...changes,
})

describe('tokens of sessions in the database of MeshCentral', () => {
  const opened: { close(): void }[] = []
  const failures: unknown[] = []
  const open = (db: MeshDatabase, options: Partial<SessionSecretsOptions> = {}) => {
    const onFailure = (error: unknown) => void failures.push(error)
    const secrets = new SessionSecrets({ db, secret: SECRET, clock: new FakeClock(2_000), onFailure, ...options })
    opened.push(secrets)
    return secrets
  }
  /** Resolves once the database has listed its records. */
  const settled = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  afterEach(() => {
    for (const store of opened.splice(0)) store.close()
    failures.length = 0
  })

  it("a session's tokens are available also after a restart", async () => {
    const rows = new Map<string, Members>()
    const { idToken, tokens } = signIn()
    const store = open(databaseOf(rows))
    store.keep(signIn(), 'handle-1', LATER)
    expect(await store.read('handle-1')).to.deep.equal({ idToken, tokens })
    expect(await open(databaseOf(rows)).read('handle-1')).to.deep.equal({ idToken, tokens })
    expect(await store.read('handle-2')).to.deep.equal(NOTHING)
  })

  // Shows: plugin 9.15.
  it('stored tokens are unreadable without session handle and server secret', async () => {
    const rows = new Map<string, Members>()
    open(databaseOf(rows)).keep(signIn(), 'handle-1', LATER)
    const [row = {}] = rows.values()
    const stored = JSON.stringify(row)
    for (const text of ['an-access-token', 'a-refresh-token', 'the ID token', 'u-1', 'handle-1']) {
      expect(stored).not.to.include(text)
    }
    expect(await open(databaseOf(rows), { secret: `${SECRET}!` }).read('handle-1')).to.deep.equal(NOTHING)
    const movedId = String(row._id).replace(keyOfHandle('handle-1'), keyOfHandle('handle-2'))
    expect(movedId).not.to.equal(row._id)
    expect(await open(databaseOf(new Map([[movedId, row]]))).read('handle-2')).to.deep.equal(NOTHING)
  })

  it("a session's tokens are stored compressed; older uncompressed tokens are readable", async () => {
    const rows = new Map<string, Members>()
    const long = { ...signIn(), idToken: JSON.stringify(Array.from({ length: 99 }, (_, n) => `group ${n}`)) }
    const secrets = open(databaseOf(rows))
    secrets.keep(long, 'handle-1', LATER)
    const [[id, row] = ['', {}]] = rows
    expect(String(row.sealed).length).to.be.below(long.idToken.length)
    const expected = { idToken: long.idToken, tokens: long.tokens }
    expect(await secrets.read('handle-1')).to.deep.equal(expected)
    const plain = createSeal(`${SECRET} handle-1`, 'session tokens')
    rows.set(id, { ...row, sealed: plain.seal(JSON.stringify(expected), keyOfHandle('handle-1')) })
    expect(await secrets.read('handle-1')).to.deep.equal(expected)
  })

  it("a session's tokens are deleted with it, and with all sessions of the user", async () => {
    const rows = new Map<string, Members>()
    const secrets = open(databaseOf(rows))
    await settled()
    secrets.keep(signIn(), 'handle-1', LATER)
    secrets.keep(signIn({ sid: 's-2' }), 'handle-2', LATER)
    secrets.keep(signIn({ subject: 'u-2' }), 'handle-3', LATER + 1)
    secrets.remove('handle-2')
    expect(await secrets.read('handle-2')).to.deep.equal(NOTHING)
    secrets.removeMatching(keysOfFilter({ domainKey: '', issuer: 'https://idp.example', subject: 'u-1', sid: null }))
    expect(await secrets.read('handle-1')).to.deep.equal(NOTHING)
    expect(rows.size).to.equal(1)
  })

  it('expired tokens are deleted only after the clock was steady for half a day', async () => {
    const rows = new Map<string, Members>()
    const earlier = open(databaseOf(rows))
    earlier.keep(signIn(), 'handle-1', LATER)
    earlier.keep(signIn({ sid: 's-2' }), 'handle-2', LATER + HALF_A_DAY_MS + 1)
    const clock = new FakeClock(LATER)
    const restarted = open(databaseOf(rows), { clock })
    await settled()
    await clock.advance(HALF_A_DAY_MS - 1)
    expect(rows.size).to.equal(2)
    await clock.advance(1)
    expect(await restarted.read('handle-1')).to.deep.equal(NOTHING)
    expect(await restarted.read('handle-2')).not.to.deep.equal(NOTHING)
    expect(rows.size).to.equal(1)
  })

  it('if token storage is full, new tokens replace the oldest, even after a restart', async () => {
    const rows = new Map<string, Members>()
    const store = open(databaseOf(rows), { most: 3 })
    await settled()
    for (const handle of ['a', 'b', 'c']) expect(store.keep(signIn(), handle, LATER)).to.equal(undefined)
    expect(store.keep(signIn(), 'd', LATER)).to.equal(keyOfHandle('a'))
    expect(await store.read('a')).to.deep.equal(NOTHING)
    const restarted = open(databaseOf(rows), { most: 3 })
    await settled()
    expect(restarted.keep(signIn(), 'e', LATER + 1)).to.equal(keyOfHandle('b'))
    expect(await restarted.read('b')).to.deep.equal(NOTHING)
    expect(rows.size).to.equal(3)
    expect(failures).to.deep.equal([])
  })

  it('a failed write or read of tokens in the database is reported', async () => {
    const rows = new Map<string, Members>()
    const broken = open({
      ...databaseOf(rows),
      Set: (_record, done) => done?.('no'),
      Get: (_id, done) => done('no', null),
    })
    broken.keep(signIn(), 'handle-2', LATER)
    await settled()
    expect(failures.map(String)).to.deep.equal(['Error: The database could not write the tokens of a session.'])
    const error = await broken.read('handle-2').catch((thrown: Error) => thrown.message)
    expect(error).to.equal('The database could not read the tokens of a session.')
  })

  it("a session's refreshed tokens are stored only if the session has not ended", async () => {
    const rows = new Map<string, Members>()
    const secrets = open(databaseOf(rows))
    await settled()
    secrets.keep(signIn(), 'handle-1', LATER)
    const fresh = { idToken: null, tokens: { access: 'new', accessExpiresAt: null, refresh: 'next' } }
    await secrets.replace('handle-1', fresh)
    expect(await secrets.read('handle-1')).to.deep.equal(fresh)
    expect([...rows.values()][0]).to.include({ until: LATER })
    const atAnotherServer = open(databaseOf(rows))
    const newest = { ...fresh, tokens: { ...fresh.tokens, access: 'newest' } }
    await atAnotherServer.replace('handle-1', newest)
    expect(await secrets.read('handle-1')).to.deep.equal(newest)
    secrets.remove('handle-1')
    await secrets.replace('handle-1', fresh)
    expect(rows.size).to.equal(0)
  })

  it('a session without tokens takes no space in the database', () => {
    const rows = new Map<string, Members>()
    open(databaseOf(rows)).keep(signIn(NOTHING), 'handle-1', LATER)
    expect(rows.size).to.equal(0)
  })
})
