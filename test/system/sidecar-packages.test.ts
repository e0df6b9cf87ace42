import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { startApns } from '../../fixtures/push/apns.ts'
import { startFcm } from '../../fixtures/push/fcm.ts'
import { startWebPush } from '../../fixtures/push/webpush.ts'
import { registration } from '../support/running-api.ts'
import type { SidecarProcess } from '../support/sidecar-process.ts'
import { sidecarProcesses } from '../support/sidecar-processes.ts'

/** By platform, the package of its client and a file that this needs. */
const PACKAGES = {
  android: ['firebase-admin', 'lib/messaging/messaging-errors-internal.js'],
  ios: ['node-apn', 'lib/token.js'],
  webpush: ['web-push', 'src/vapid-helper.js'],
} as const

describe('the sidecar as a process, and the packages of its push gateways', () => {
  const its = sidecarProcesses()
  const closers: (() => Promise<void>)[] = []
  afterEach(() => Promise.all(closers.splice(0).map((close) => close())))

  function closing<Part extends { close(): Promise<void> }>(part: Part): Part {
    closers.push(() => part.close())
    return part
  }

  /** As while an installation replaces the packages: they are found, and a file of each is not there yet. */
  async function halfInstalled(): Promise<Readonly<Record<string, string>>> {
    const file = join(its.folder.path, 'half-installed.cjs')
    const gone = Object.values(PACKAGES).map((parts) => parts.join('/'))
    await writeFile(
      file,
      `const Module = require('node:module')
      const resolve = Module._resolveFilename
      Module._resolveFilename = function (...request) {
        const found = resolve.apply(this, request)
        if (!${JSON.stringify(gone)}.some((file) => found.endsWith(file))) return found
        throw Object.assign(new Error('Cannot find it'), { code: 'MODULE_NOT_FOUND' })
      }`,
    )
    return { NODE_OPTIONS: `--require ${file}` }
  }

  const fetched = async (sidecar: SidecarProcess, path: string) =>
    (await fetch((await sidecar.adminUrl()) + path)).text()

  it('says at once that it has to be restarted where they do not load, and tells the phones then of what came meanwhile', async () => {
    const fcm = closing(await startFcm())
    const apns = closing(await startApns())
    const service = closing(await startWebPush())
    const push = { coalesceMs: 10, fcm: fcm.settings, apns: apns.settings, webpush: service.settings }
    const config = await its.configure({ push })
    const platforms = Object.keys(PACKAGES)

    const first = its.start(['--config', config], await halfInstalled())
    const refusals = () => first.lines.filter(({ event }) => event === 'push-unauthorized')
    while (refusals().length < platforms.length) await fetched(first, '/healthz')
    expect(await fetched(first, '/readyz')).to.include('push_credentials_refused')
    for (const [platform, [name]] of Object.entries(PACKAGES))
      expect(refusals().find((line) => line.platform === platform)?.reason)
        .to.include(`package ${name} cannot be loaded (MODULE_NOT_FOUND)`)
        .and.include('restart')

    const { publicKey } = JSON.parse(await (await fetch(`${await first.url()}/v1/webpush`)).text())
    const phones = {
      N1CALL: { platform: 'android', pushToken: 'token-of-N1CALL' },
      N2CALL: { platform: 'ios', pushToken: 'ab'.repeat(32) },
      N3CALL: { platform: 'webpush', pushToken: JSON.stringify(service.subscribe(publicKey)) },
    }
    for (const [callsign, phone] of Object.entries(phones)) {
      expect((await first.post('/v1/register', registration(callsign, phone))).status).to.equal(200)
      await its.upstream.until(() => its.asksFor(`${callsign}-7`))
      its.upstream.inject(`N9CALL>APRS,TCPIP*::${callsign}-7 :Good morning{12`)
    }
    for (const platform of platforms)
      while (
        !(await fetched(first, '/metrics')).includes(
          `pushes_retried_total{platform="${platform}",reason="credentials"}`,
        )
      );
    first.kill('SIGTERM')
    expect((await first.ended).outcome).to.equal(0)

    its.start(['--config', config])
    await Promise.all([fcm.waitFor(() => true), apns.waitFor(() => true), service.waitFor(() => true)])
  })
})
