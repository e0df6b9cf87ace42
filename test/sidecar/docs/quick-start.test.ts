import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { startAprsIs } from '../../../fixtures/aprsis/server.ts'
import { startApns } from '../../../fixtures/push/apns.ts'
import { startFcm } from '../../../fixtures/push/fcm.ts'
import { settingsFrom } from '../../../sidecar/index.ts'
import { checkLive } from '../../../sidecar/operator/commands/check-live.ts'
import { EXAMPLES, textOf } from './page.ts'

describe('the quick start', () => {
  it('shows what the live check says of the configuration that it shows', async () => {
    const [, shown = ''] = /```text\n([\s\S]*?)```/.exec(textOf('quick-start.md')) ?? []
    const [upstream, fcm, apns] = await Promise.all([startAprsIs(), startFcm(), startApns()])
    const folder = await mkdtemp(join(tmpdir(), 'quick-start-'))
    try {
      const { value } = EXAMPLES.find(({ page }) => page === 'quick-start.md') ?? {}
      const config = {
        aprsis: { ...Object(value?.aprsis), host: upstream.host, port: upstream.port },
        push: { fcm: fcm.settings, apns: apns.settings },
      }
      const reading = settingsFrom(JSON.stringify(config), folder)
      if ('problems' in reading) throw new Error(JSON.stringify(reading.problems))
      const verdicts = await checkLive(reading.settings)
      const lines = verdicts.map(({ verdict, text }) => `${verdict.padEnd(4)} ${text}`.replace('T2FIX', 'T2EXAMPLE'))
      expect(shown.trimEnd().split('\n').slice(2)).to.deep.equal(lines)
    } finally {
      await Promise.all([upstream.close(), fcm.close(), apns.close(), rm(folder, { recursive: true })])
    }
  })
})
