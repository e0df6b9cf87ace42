import { expect } from 'chai'
import express, { type RequestHandler } from 'express'
import session, { MemoryStore } from 'express-session'
import { recordsInMemory } from '../../../fixtures/host/accounts-memory.ts'
import { startHost } from '../../../fixtures/host/server.ts'
import { BoundedSessionStore } from '../../../fixtures/host/session-store.ts'
import {
  expressSessions,
  type Host,
  memoryRevocations,
  type RevocationStore,
  registerOidc,
} from '../../../plugin/index.ts'
import type { HostApp } from '../../../plugin/routes/route-table.ts'
import { errorOf } from '../../support/error-of.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const CONFIG = { settings: { cert: '127.0.0.1', port: 0 }, domains: {} }
const SHARED: RevocationStore = { ...memoryRevocations(), isShared: true }
const output = { write: () => undefined }

/** A server's own accounts and groups, which do not set `isShared`. */
const { accounts, groups } = recordsInMemory()
const HOST: Host = {
  accounts,
  groups,
  sessions: expressSessions({ revocations: SHARED }),
  loginPage: { showFailure: () => undefined },
  authLog: () => undefined,
  secret: 'of the tests, with 32 characters or more',
}

const outcomeOf = async (work: Promise<unknown>) => (await errorOf(work))?.toString() ?? 'started'

describe('server with several processes', () => {
  const folder = temporaryFolder()
  const registered = (host: Partial<Host>, app: HostApp = express()) =>
    outcomeOf(registerOidc(app, { config: CONFIG, host: { ...HOST, ...host }, shared: true }))

  // Shows: plugin 9.25.
  it('refuses shared: true if secret, sessions, accounts or groups are not shared', async () => {
    const { secret: _secret, ...withoutSecret } = HOST
    const without = registerOidc(express(), { config: CONFIG, host: withoutSecret, shared: true })
    expect(await outcomeOf(without)).to.match(
      /^TypeError: `shared: true` needs `host\.secret`, the same in all processes\./,
    )
    expect(await registered({ sessions: expressSessions() })).to.match(
      /^TypeError: `shared: true` needs sessions with a revocation store that all processes share\. Pass .*pgRevocations\(pool\)/,
    )
    const unshared = [{ accounts: { ...accounts, isShared: false } }, { groups: { ...groups, isShared: false } }]
    for (const part of unshared) {
      expect(await registered(part)).to.match(
        /^TypeError: `shared: true` needs accounts and groups .*`isShared: false`.*pgAccounts\(pool\)/,
      )
    }
  })

  // Shows: plugin 9.25.
  it('refuses to start with shared: true and the MemoryStore of express-session', async () => {
    const options = { secret: 'x', resave: false, saveUninitialized: true }
    const store = new MemoryStore()
    for (const handler of [session(options), session({ ...options, store })]) {
      for (const app of [express().use(handler), express.Router().use(handler)]) {
        expect(await registered({}, app)).to.match(
          /^TypeError: `shared: true` needs a session store .*MemoryStore.*connect-pg-simple/,
        )
      }
    }
    expect(Object.keys(Reflect.get(store, 'sessions'))).to.deep.equal([])
    const bounded = session({ ...options, store: new BoundedSessionStore() })
    for (const handler of [bounded, ((_req, _res, next) => next()) as RequestHandler]) {
      expect(await registered({}, express().use(handler))).to.equal('started')
    }
    const alone = registerOidc(express().use(session(options)), { config: CONFIG, host: HOST })
    expect(await outcomeOf(alone)).to.equal('started')
  })

  it('starts with shared: true if secret, sessions, accounts and groups are shared', async () => {
    const config = { ...CONFIG, settings: { ...CONFIG.settings, sqlite3: folder.path('accounts.sqlite') } }
    const host = await startHost({ config, port: 0, output, shared: true, revocations: SHARED })
    await host.close()
  })
})

describe('secret of the host', () => {
  const startWith = (host: Host) => outcomeOf(registerOidc(express(), { config: CONFIG, host }))

  it('refuses a host secret of fewer than 32 characters without printing the secret', async () => {
    for (const secret of ['', 'keyboard cat', 's'.repeat(31)]) {
      const refused = await startWith({ ...HOST, secret })
      expect(refused).to.match(/^TypeError: `host\.secret` has fewer than 32 characters\./)
      if (secret !== '') expect(refused).not.to.include(secret)
    }
    const { secret: _, ...withoutSecret } = HOST
    for (const host of [{ ...HOST, secret: 's'.repeat(32) }, withoutSecret])
      expect(await startWith(host)).to.equal('started')
  })
})
