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

describe('the tokens of sessions, in the database of MeshCentral', () => {
  const opened: { close(): void }[] = []
  const failures: unknown[] = []
  const open = (db: MeshDatabase, options: Partial<SessionSecretsOptions> = {}) => {
    const onFailure = (error: unknown) => void failures.push(error)
    const secrets = new SessionSecrets({ db, secret: SECRET, clock: new FakeClock(2_000), onFailure, ...options })
    opened.push(secrets)
    return secrets
  }
  /** Once the database has listed what it had. */
  const settled = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  afterEach(() => {
    for (const one of opened.splice(0)) one.close()
    failures.length = 0
  })

  it('are there for the session that they belong to, after a restart as well', async () => {
    const rows = new Map<string, Members>()
    const { idToken, tokens } = signIn()
    const before = open(databaseOf(rows))
    before.keep(signIn(), 'handle-1', LATER)
    expect(await before.read('handle-1')).to.deep.equal({ idToken, tokens })
    expect(await open(databaseOf(rows)).read('handle-1')).to.deep.equal({ idToken, tokens })
    expect(await before.read('handle-2')).to.deep.equal(NOTHING)
  })

  // Shows: plugin 9.15.
  it('cannot be read from the database, nor by its handle from another one or with another secret', async () => {
    const rows = new Map<string, Members>()
    open(databaseOf(rows)).keep(signIn(), 'handle-1', LATER)
    const [row = {}] = rows.values()
    const stored = JSON.stringify(row)
    for (const text of ['an-access-token', 'a-refresh-token', 'the ID token', 'u-1', 'handle-1']) {
      expect(stored).not.to.include(text)
    }
    expect(await open(databaseOf(rows), { secret: `${SECRET}!` }).read('handle-1')).to.deep.equal(NOTHING)
    const moved = String(row._id).replace(keyOfHandle('handle-1'), keyOfHandle('handle-2'))
    expect(moved).not.to.equal(row._id)
    expect(await open(databaseOf(new Map([[moved, row]]))).read('handle-2')).to.deep.equal(NOTHING)
  })

  it('take less room than the tokens themselves, and are read where an older version kept them as they were', async () => {
    const rows = new Map<string, Members>()
    const long = { ...signIn(), idToken: JSON.stringify(Array.from({ length: 99 }, (_, n) => `group ${n}`)) }
    const secrets = open(databaseOf(rows))
    secrets.keep(long, 'handle-1', LATER)
    const [[id, row] = ['', {}]] = rows
    expect(String(row.sealed).length).to.be.below(long.idToken.length)
    const kept = { idToken: long.idToken, tokens: long.tokens }
    expect(await secrets.read('handle-1')).to.deep.equal(kept)
    const plain = createSeal(`${SECRET} handle-1`, 'session tokens')
    rows.set(id, { ...row, sealed: plain.seal(JSON.stringify(kept), keyOfHandle('handle-1')) })
    expect(await secrets.read('handle-1')).to.deep.equal(kept)
  })

  it('go with their session, and with all sessions of a person', async () => {
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

  it('go when they are too old, but not at a start: the clock may be wrong then', async () => {
    const rows = new Map<string, Members>()
    const before = open(databaseOf(rows))
    before.keep(signIn(), 'handle-1', LATER)
    before.keep(signIn({ sid: 's-2' }), 'handle-2', LATER + HALF_A_DAY_MS + 1)
    const clock = new FakeClock(LATER)
    const after = open(databaseOf(rows), { clock })
    await settled()
    await clock.advance(HALF_A_DAY_MS - 1)
    expect(rows.size).to.equal(2)
    await clock.advance(1)
    expect(await after.read('handle-1')).to.deep.equal(NOTHING)
    expect(await after.read('handle-2')).not.to.deep.equal(NOTHING)
    expect(rows.size).to.equal(1)
  })

  it('are bounded, after a restart as well: the next login names the oldest', async () => {
    const rows = new Map<string, Members>()
    const before = open(databaseOf(rows), { most: 3 })
    await settled()
    for (const handle of ['a', 'b', 'c']) expect(before.keep(signIn(), handle, LATER)).to.equal(undefined)
    expect(before.keep(signIn(), 'd', LATER)).to.equal(keyOfHandle('a'))
    expect(await before.read('a')).to.deep.equal(NOTHING)
    const after = open(databaseOf(rows), { most: 3 })
    await settled()
    expect(after.keep(signIn(), 'e', LATER + 1)).to.equal(keyOfHandle('b'))
    expect(await after.read('b')).to.deep.equal(NOTHING)
    expect([rows.size, failures]).to.deep.equal([3, []])
  })

  it('are not kept, and somebody is told, where the database fails', async () => {
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

  it('are replaced while their session lasts, and not once it is over', async () => {
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

  it('of a session without any take no room', () => {
    const rows = new Map<string, Members>()
    open(databaseOf(rows)).keep(signIn(NOTHING), 'handle-1', LATER)
    expect(rows.size).to.equal(0)
  })
})
