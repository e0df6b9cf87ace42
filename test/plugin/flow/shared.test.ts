import { expect } from 'chai'
import express from 'express'
import { recordsInMemory } from '../../../fixtures/host/accounts-memory.ts'
import { startHost } from '../../../fixtures/host/server.ts'
import { expressSessions, memoryRevocations, type RevocationStore, registerOidc } from '../../../plugin/index.ts'

const CONFIG = { settings: { cert: '127.0.0.1', port: 0 }, domains: {} }
const SHARED: RevocationStore = { ...memoryRevocations(), isShared: true }
const output = { write: () => undefined }

describe('a server of several processes', () => {
  const said = async (work: Promise<unknown>) =>
    work.then(
      () => 'started',
      (error: unknown) => (error instanceof TypeError ? error.message : 'no TypeError'),
    )

  it('does not start over revocations that each process has for itself', async () => {
    expect(await said(startHost({ config: CONFIG, port: 0, output, shared: true }))).to.match(
      /^shared: true needs sessions over a store of revocations that all processes share\. Give .*pgRevocations\(pool\)/,
    )
  })

  it('does not start without a secret that is the same in all processes', async () => {
    const { accounts, groups } = recordsInMemory()
    const host = {
      accounts,
      groups,
      sessions: expressSessions({ revocations: SHARED }),
      loginPage: { showFailure: () => undefined },
      authLog: () => undefined,
    }
    const registered = registerOidc(express(), { config: CONFIG, host, shared: true })
    expect(await said(registered)).to.match(/^shared: true needs `host\.secret`, the same in all processes\./)
  })

  it('starts with both', async () => {
    const host = await startHost({ config: CONFIG, port: 0, output, shared: true, revocations: SHARED })
    await host.close()
  })
})
