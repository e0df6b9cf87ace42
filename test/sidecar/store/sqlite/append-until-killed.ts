import { writeSync } from 'node:fs'
import { systemClock } from '../../../../sidecar/clock.ts'
import { createLog } from '../../../../sidecar/log.ts'
import { openSqliteStore } from '../../../../sidecar/store/sqlite/open-sqlite.ts'
import { append, message, newer, register, SETTINGS } from './temporary-stores.ts'

// Run as a process of its own. Appends to the store in the file that it is given for as long as it lives, and prints
// `<time> <text>` for each message once it is acknowledged, and `issued <stamp>` for each stamp that it gives out beside them.
const [path = '', run = ''] = process.argv.slice(2)
const settings = {
  ...SETTINGS,
  history: { ...SETTINGS.history, perStation: 1_000_000 },
}
const store = await openSqliteStore(path, settings, systemClock, createLog('silent'))
await register(store, 'N0CALL')

let count = 0
async function keepAppending(): Promise<never> {
  for (;;) {
    const batch = Array.from({ length: 5 }, (_, index) => message(`${run}-${count + index}`))
    count += batch.length
    const outcomes = await append(store, ...batch)
    const lines = outcomes.map((outcome) =>
      outcome.kind === 'stored' ? `${outcome.message.time} ${outcome.message.text}\n` : `${outcome.kind}\n`,
    )
    writeSync(1, lines.join(''))
  }
}

async function keepIssuing(): Promise<never> {
  for (;;) {
    await newer(store, 'N0CALL', Number.MAX_SAFE_INTEGER) // waits for the transaction that is under way
    writeSync(1, `issued ${await store.serverTime.issue()}\n`)
  }
}

await Promise.all([keepAppending(), keepAppending(), keepAppending(), keepIssuing()])
