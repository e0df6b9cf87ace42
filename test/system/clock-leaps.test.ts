import { join } from 'node:path'
import { expect } from 'chai'
import { type FcmFixture, startFcm } from '../../fixtures/push/fcm.ts'
import { openFile } from '../../sidecar/store/sqlite/database/open-file.ts'
import { FAKE_TIME_LIBRARY, fakeTime } from '../support/fake-time.ts'
import { claim, registration } from '../support/running-api.ts'
import { sidecarProcesses } from '../support/sidecar-processes.ts'

/** Shortly before a minute is over, in 1970. */
const BOOT = Date.UTC(1970, 0, 1, 0, 20, 50)
const HOUR = 3_600_000
/** Offset within an hour, just before housekeeping begins. */
const BEFORE_HOUSEKEEPING = (16 * 60 + 55) * 1000

const itWithFakeTime = FAKE_TIME_LIBRARY === undefined ? it.skip : it
const unless = FAKE_TIME_LIBRARY === undefined ? ' (skipped: no libfaketime)' : ''

describe(`The sidecar on a machine without a battery-backed clock${unless}`, function () {
  // Its housekeeping looks at the clock once a minute.
  this.timeout(180_000)

  const sidecars = sidecarProcesses()
  let fcm: FcmFixture
  beforeEach(async () => {
    fcm = await startFcm()
  })
  afterEach(() => fcm.close())

  /** A database with something for the housekeeping to do. */
  async function makeDatabase(): Promise<string> {
    const path = join(sidecars.folder.path, 'sidecar.sqlite')
    const file = await openFile(path)
    await file.exec(`PRAGMA foreign_keys = OFF; INSERT INTO avatar VALUES ('GHOST', '', '', 1, '')`)
    await file.close()
    return path
  }

  // Shows: sidecar C11.7.
  itWithFakeTime('syncs, pushes and does its housekeeping after the clock leaps from 1970 to now', async () => {
    const time = fakeTime(FAKE_TIME_LIBRARY ?? '', join(sidecars.folder.path, 'time'))
    await time.set(BOOT)
    const config = await sidecars.configure({
      database: await makeDatabase(),
      push: { coalesceMs: 10, fcm: fcm.settings },
      log: { level: 'debug' },
    })
    const sidecar = sidecars.start(['--config', config], { ...time.env, TZ: 'UTC' })
    const { body: first } = await sidecar.post('/v1/register', registration('N1CALL'))
    expect(first.serverTime).to.be.below(Date.UTC(1971, 0, 1))
    await sidecars.upstream.until(() => sidecars.asksFor('N1CALL-7'))
    sidecars.upstream.inject('N2CALL>APRS,TCPIP*::N1CALL-7 :before')
    // Neither certificates nor access tokens are of any use in 1970.
    await sidecar.logged('push-retry')
    expect(fcm.received).to.deep.equal([])

    // The next time just before the hourly housekeeping at minute 17. It is later than the creation of the
    // certificates.
    const target = Math.ceil((Date.now() - BEFORE_HOUSEKEEPING) / HOUR) * HOUR + BEFORE_HOUSEKEEPING
    fcm.setClockAhead(target - Date.now())
    await time.set(target)
    sidecars.upstream.inject('N2CALL>APRS,TCPIP*::N1CALL-7 :after')
    await fcm.waitFor(({ data }) => data.count === '2', 60_000)
    const { body } = await sidecar.post('/v1/sync', { ...claim('N1CALL'), since: first.serverTime })
    expect(body.messages.map(({ text }) => text)).to.deep.equal(['before', 'after'])
    expect(body.serverTime).to.be.above(Date.UTC(2026, 0, 1))
    const { time: doneAt } = await sidecar.logged('orphans-removed')
    expect(Date.parse(String(doneAt))).to.be.at.least(target)
  })
})
