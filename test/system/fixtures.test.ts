import { tmpdir } from 'node:os'
import { expect } from 'chai'
import { ScriptedBrowser } from '../../fixtures/browser.ts'
import { startHost } from '../../fixtures/host/server.ts'
import { createLog, settingsFrom, startSidecar } from '../../sidecar/index.ts'
import { freePort } from '../support/host-process.ts'
import { until } from '../support/until.ts'
import { sendByRadio, type WatchedProgram, watchProgram } from '../support/watched-program.ts'

const LAST_LINE = 'Ctrl-C stops all of it.'
const TO_TRY = { listen: { port: 0 }, admin: { port: 0 }, database: ':memory:' }

/** `npm run fixtures`. */
const runFixtures = (...args: readonly string[]) => watchProgram('fixtures/alone.ts', ...args)

/** The JSON objects of the page, in order. */
const printedObjects = (page: string): unknown[] =>
  [...page.matchAll(/^\{\n[\s\S]*?^\}$/gm)].map(([text]) => JSON.parse(text))

describe('npm run fixtures', () => {
  let fixtures: WatchedProgram | undefined
  afterEach(async () => {
    fixtures?.child.kill('SIGKILL')
    await fixtures?.ended
  })

  it('the fixtures print working configurations, and exit with 0 on SIGTERM', async () => {
    const port = await freePort()
    fixtures = runFixtures('--redirect-uri', `http://127.0.0.1:${port}/auth-oidc-callback`)
    const page = await fixtures.shows(LAST_LINE)
    const [server, sidecar] = printedObjects(page) as [Record<string, object>, Record<string, object>]
    // Change the filter at once: then the sidecar is ready only when the filter contains the station.
    const aprsis = { ...sidecar.aprsis, filterDebounceMs: 0 }
    const push = { ...sidecar.push, coalesceMs: 0 }

    const host = await startHost({
      config: { ...server, settings: { ...server.settings, port } },
      port,
      output: { write: () => undefined },
    })
    const browser = new ScriptedBrowser()
    try {
      const [, name = '', password = ''] = /^ {2}(alice), password (\S+),/m.exec(page) ?? []
      expect((await browser.login(host.url, name, password)).url).to.equal(host.url)
      const { id } = JSON.parse((await browser.get(`${host.url}api/me`)).body) as { id: string }
      expect(page).to.include(`alice, password ${password}, account ${id}, in `)
      const [, endSession = ''] = /open (\S+\/session\/end);/.exec(page) ?? []
      expect((await browser.get(endSession)).body).to.include('form')
    } finally {
      browser.close()
      await host.close()
    }

    const read = settingsFrom(JSON.stringify({ ...sidecar, ...TO_TRY, aprsis, push }), tmpdir())
    if ('problems' in read) throw new Error(JSON.stringify(read.problems))
    const phones = await startSidecar(read.settings, createLog('silent'))
    const [, body = ''] = /\/v1\/register -H 'content-type: application\/json' \\\n +-d '([^']+)'/.exec(page) ?? []
    const headers = { 'content-type': 'application/json' }
    let radio: ReturnType<typeof sendByRadio> | undefined
    try {
      expect((await fetch(`${phones.url}/v1/register`, { method: 'POST', headers, body })).status).to.equal(200)
      const ready = async () => (await fetch(`${phones.adminUrl}/readyz`)).ok
      await until('the sidecar to be ready', ready)
      radio = sendByRadio(page)
      await fixtures.shows(`K2ABC-7 sent ${radio.packet} (passed)`)
      await fixtures.shows('FCM      {"notification":{"title":"K2ABC-7","body":"Good morning"}')
    } finally {
      radio?.close()
      await phones.close()
    }

    fixtures.child.kill('SIGTERM')
    expect(await fixtures.ended).to.include({ code: 0 })
  }).timeout(60_000)
})
