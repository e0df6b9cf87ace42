import { expect } from 'chai'
import { startAprsIs } from '../../../fixtures/aprsis/server.ts'
import { startApns } from '../../../fixtures/push/apns.ts'
import { startFcm } from '../../../fixtures/push/fcm.ts'
import { checkLive } from '../../../sidecar/operator/commands/check-live.ts'
import { settingsOf } from '../../support/read-settings.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { EXAMPLES, textOf } from './page.ts'

describe('The quick start', () => {
  const folder = temporaryFolder()

  // Shows: sidecar C12.10.
  it("the quick start shows the live check's output for the configuration shown there", async () => {
    const [, shown = ''] = /```text\n([\s\S]*?)```/.exec(textOf('quick-start.md')) ?? []
    const [upstream, fcm, apns] = await Promise.all([startAprsIs(), startFcm(), startApns()])
    try {
      const { value } = EXAMPLES.find(({ page }) => page === 'quick-start.md') ?? {}
      const config = {
        aprsis: { ...Object(value?.aprsis), host: upstream.host, port: upstream.port },
        push: { fcm: fcm.settings, apns: apns.settings },
      }
      const verdicts = await checkLive(settingsOf(config, folder.path()))
      const lines = verdicts.map(({ verdict, text }) => `${verdict.padEnd(4)} ${text}`.replace('T2FIX', 'T2EXAMPLE'))
      expect(shown.split('\n').filter((line) => /^(?:ok|warn|fail) /.test(line))).to.deep.equal(lines)
    } finally {
      await Promise.all([upstream.close(), fcm.close(), apns.close()])
    }
  })
})
