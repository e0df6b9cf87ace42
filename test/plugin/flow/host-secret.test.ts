import { expect } from 'chai'
import express from 'express'
import { recordsInMemory } from '../../../fixtures/host/accounts-memory.ts'
import { expressSessions, registerOidc } from '../../../plugin/index.ts'

const CONFIG = { settings: { cert: '127.0.0.1' }, domains: {} }

describe("a host's secret", () => {
  const start = async (secret?: string) => {
    const { accounts, groups } = recordsInMemory()
    const host = {
      accounts,
      groups,
      sessions: expressSessions(),
      loginPage: { showFailure: () => undefined },
      authLog: () => undefined,
      ...(secret === undefined ? {} : { secret }),
    }
    const oidc = await registerOidc(express(), { config: CONFIG, host })
    await oidc.close()
  }
  const said = (work: Promise<void>) =>
    work.then(
      () => 'started',
      (error: unknown) => (error instanceof TypeError ? error.message : 'no TypeError'),
    )

  it('of fewer than 32 characters is refused, an environment variable that is not set too, and is not repeated', async () => {
    for (const secret of ['', 'keyboard cat', 's'.repeat(31)]) {
      const refused = await said(start(secret))
      expect(refused).to.match(/^host\.secret has fewer than 32 characters\./)
      if (secret !== '') expect(refused).not.to.include(secret)
    }
  })

  it('may have 32, or be left out', async () => {
    expect(await said(start('s'.repeat(32)))).to.equal('started')
    expect(await said(start())).to.equal('started')
  })
})
