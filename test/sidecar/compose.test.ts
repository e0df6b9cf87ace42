import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { expect } from 'chai'
import { type AprsIsServer, startAprsIs } from '../../fixtures/aprsis/server.ts'
import { CLOSE_WITHIN } from '../../sidecar/compose.ts'
import { createLog, type Settings, settingsFrom, startSidecar } from '../../sidecar/index.ts'

const log = createLog('silent')

describe('a sidecar inside another program', () => {
  let upstream: AprsIsServer
  let folder: string
  beforeEach(async () => {
    upstream = await startAprsIs()
    folder = await mkdtemp(`${tmpdir()}/sidecar-`)
  })
  afterEach(async () => {
    await Promise.all([upstream.close(), rm(folder, { recursive: true })])
  })

  function settings(config: object = {}): Settings {
    const { host, port } = upstream
    const whole = { listen: { port: 0 }, admin: { port: 0 }, aprsis: { callsign: 'N0CALL', host, port }, ...config }
    const outcome = settingsFrom(JSON.stringify(whole), folder)
    if ('problems' in outcome) throw new Error(JSON.stringify(outcome.problems))
    return outcome.settings
  }

  it('serves both ports, and closes them, its connections and its database, twice if asked to', async () => {
    const sidecar = await startSidecar(settings(), log)
    await upstream.until(() => upstream.clients().length === 1)
    expect((await fetch(`${sidecar.url}/v1/sync`, { method: 'POST' })).status).to.equal(415)
    expect((await fetch(`${sidecar.adminUrl}/healthz`)).status).to.equal(200)
    await Promise.all([sidecar.close(), sidecar.close()])
    await upstream.until(() => upstream.clients().length === 0)
    for (const url of [sidecar.url, sidecar.adminUrl]) {
      const gone = await fetch(url).then(
        () => false,
        () => true,
      )
      expect(gone).to.equal(true)
    }
    await (await startSidecar(settings(), log)).close()
  })

  it('leaves behind what has not closed, so that all is over within 5 s', () => {
    const limitsMs = Object.values(CLOSE_WITHIN)
    expect(limitsMs.reduce((sum, limitMs) => sum + limitMs, 0)).to.be.below(5000)
  })

  for (const name of ['listen', 'admin'] as const) {
    it(`leaves nothing open when ${name}.port is taken`, async () => {
      const taken = createServer().listen(0, '127.0.0.1')
      await once(taken, 'listening')
      try {
        const { port } = taken.address() as { port: number }
        const failure = await startSidecar(settings({ [name]: { port } }), log).then(
          () => undefined,
          (error: NodeJS.ErrnoException) => error.code,
        )
        expect(failure).to.equal('EADDRINUSE')
      } finally {
        taken.close()
      }
      // The database is opened by one at a time.
      await (await startSidecar(settings(), log)).close()
    })
  }
})
