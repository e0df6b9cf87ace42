import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { deadlineSignal, isLate } from '../../plugin/clock.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { TYPESCRIPT } from '../support/typescript/options.ts'

const PLUGIN = fileURLToPath(new URL('../../plugin', import.meta.url))

/** Browser scripts, which use the browser's clock. */
const PAGES = ['doctor/page-look.ts', 'meshcentral/pages/open-page.ts']

describe('time and timers in the plugin', () => {
  it('only the clock reads the time or sets timers in the plugin', () => {
    const names = readdirSync(PLUGIN, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
    expect(names.length).to.be.above(100)
    const timeSource =
      /setTimeout|setInterval|AbortSignal\.timeout|Date\.now|new Date\(\)|performance\.now|hrtime|timers\/promises/
    const offenders = names
      .map((name) => name.split(sep).join('/'))
      .filter((name) => name !== 'clock.ts' && !PAGES.includes(name))
      .filter((name) => timeSource.test(readFileSync(join(PLUGIN, name), 'utf8')))
    expect(offenders).to.deep.equal([])
  })

  it('a pending timer of systemClock does not keep the process running', async () => {
    const script = `import { systemClock } from './plugin/clock.ts'; systemClock.after(600_000, () => undefined); console.log('end')`
    const node = [...TYPESCRIPT, '--input-type=module', '-e', script]
    expect((await promisify(execFile)(process.execPath, node)).stdout).to.equal('end\n')
  })

  it("deadlineSignal aborts at its deadline or with the caller's signal unless cleared", async () => {
    const clock = new FakeClock()
    const asker = new AbortController()
    const [late, aborted, cleared] = [
      deadlineSignal(clock, 1_000),
      deadlineSignal(clock, 1_000, asker.signal),
      deadlineSignal(clock, 1_000),
    ]
    asker.abort(new Error('gone'))
    expect(String(aborted.signal.reason)).to.equal('Error: gone')
    cleared.clear()
    await clock.advance(999)
    expect(late.signal.aborted).to.equal(false)
    await clock.advance(1)
    expect(late.signal.reason).to.have.property('name', 'TimeoutError')
    expect(cleared.signal.aborted).to.equal(false)
    expect(clock.pending).to.equal(0)
  })

  it('isLate is true only for a promise that is still pending at the time limit', async () => {
    const clock = new FakeClock()
    const never = isLate(clock, new Promise(() => undefined), 1_000)
    expect(await isLate(clock, Promise.resolve(), 1_000)).to.equal(false)
    expect(await isLate(clock, Promise.reject(new Error('no')), 1_000)).to.equal(false)
    expect(clock.pending).to.equal(1)
    await clock.advance(1_000)
    expect(await never).to.equal(true)
  })
})
