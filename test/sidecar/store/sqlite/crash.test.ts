import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { systemClock } from '../../../../sidecar/clock.ts'
import { openSqliteStore } from '../../../../sidecar/store/sqlite/open-sqlite.ts'
import { newer, rejection, SETTINGS, temporaryStores } from './temporary-stores.ts'

const SCRIPT = fileURLToPath(new URL('append-until-killed.ts', import.meta.url))
const LARGE_RING = { history: { perStation: 1_000_000, duplicateMinutes: 120, duplicateSecondsUnnumbered: 30 } }

describe('A process that is killed', () => {
  const stores = temporaryStores()
  let child: ChildProcess | undefined
  afterEach(() => void child?.kill('SIGKILL'))

  /** Lets the script run until it has printed `lines` lines, and calls `then` while it goes on. Returns all whole lines. */
  async function runAndKill(run: string, lines: number, then = async () => {}): Promise<readonly string[]> {
    const started = spawn(process.execPath, ['--import', 'tsx', SCRIPT, stores.path(), run], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    child = started
    const printed: string[] = []
    const reader = createInterface({ input: started.stdout })
    await new Promise<void>((resolve, reject) => {
      started.once('exit', () => reject(new Error('The script ended by itself.')))
      reader.on('line', (line) => {
        if (printed.push(line) === lines) resolve()
      })
    })
    await then()
    started.kill('SIGKILL')
    await once(reader, 'close')
    return printed
  }

  it('loses nothing that it had acknowledged, amid a burst, and issues no stamp twice afterwards', async () => {
    const acknowledged = new Map<string, number>()
    const stamps: number[] = []
    for (const [run, lines] of [
      ['first', 400],
      ['second', 1500],
    ] as const) {
      const newestBefore = Math.max(0, ...stamps)
      for (const line of await runAndKill(run, lines)) {
        const [first = '', second = ''] = line.split(' ')
        const stamp = Number(first === 'issued' ? second : first)
        expect(stamp).to.be.greaterThan(newestBefore)
        stamps.push(stamp)
        if (first !== 'issued') acknowledged.set(second, stamp)
      }
    }
    expect(new Set(stamps).size).to.equal(stamps.length)

    const store = await stores.open(LARGE_RING, stores.path(), systemClock)
    const { messages } = await newer(store, 'N0CALL')
    const held = new Map(messages.map(({ text, time }) => [text.toString(), time]))
    for (const [text, time] of acknowledged) expect(held.get(text), text).to.equal(time)
    expect(await store.serverTime.issue()).to.be.greaterThan(Math.max(...stamps))
    expect(held.size).to.equal(messages.length)
  })

  it('keeps other processes from its file as long as it lives, and no longer', async () => {
    await runAndKill('only', 1, async () => {
      const error = await rejection(openSqliteStore(stores.path(), SETTINGS, stores.clock, stores.log))
      expect(error.code).to.equal('database_locked')
      expect(error.remedy).to.include('Stop that process')
    })
    const store = await stores.open()
    expect(store.stations.size).to.equal(1)
  })
})
