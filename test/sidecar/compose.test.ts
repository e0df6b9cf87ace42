import { createServer } from 'node:net'
import { expect } from 'chai'
import { type AprsIsServer, startAprsIs } from '../../fixtures/aprsis/server.ts'
import { createLog, type Settings, startSidecar } from '../../sidecar/index.ts'
import { onLoopback } from '../support/on-loopback.ts'
import { settingsOf } from '../support/read-settings.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const log = createLog('silent')

describe('A sidecar inside another program', () => {
  let upstream: AprsIsServer
  const folder = temporaryFolder()
  beforeEach(async () => {
    upstream = await startAprsIs()
  })
  afterEach(() => upstream.close())

  function settings(config: object = {}): Settings {
    const { host, port } = upstream
    const whole = { listen: { port: 0 }, admin: { port: 0 }, aprsis: { callsign: 'N0CALL', host, port }, ...config }
    return settingsOf(whole, folder.path())
  }

  it('close() ends the APRS-IS connection, API and operator port, and is idempotent', async () => {
    const sidecar = await startSidecar(settings(), log)
    await upstream.until(() => upstream.clients().length === 1)
    expect((await fetch(`${sidecar.url}/v1/sync`, { method: 'POST' })).status).to.equal(415)
    expect((await fetch(`${sidecar.adminUrl}/healthz`)).status).to.equal(200)
    await Promise.all([sidecar.close(), sidecar.close()])
    await upstream.until(() => upstream.clients().length === 0)
    for (const url of [sidecar.url, sidecar.adminUrl]) {
      const refusal = await fetch(url).then(
        () => false,
        () => true,
      )
      expect(refusal).to.equal(true)
    }
    await (await startSidecar(settings(), log)).close()
  })

  for (const name of ['listen', 'admin'] as const) {
    it(`a failed start closes everything again if ${name}.port is taken`, async () => {
      const { port, close } = await onLoopback(createServer())
      try {
        const failure = await startSidecar(settings({ [name]: { port } }), log).then(
          () => undefined,
          (error: NodeJS.ErrnoException) => error.code,
        )
        expect(failure).to.equal('EADDRINUSE')
      } finally {
        await close()
      }
      // Only one sidecar can open the database, so this start shows that the failed one closed it.
      await (await startSidecar(settings(), log)).close()
    })
  }
})
