import { existsSync, readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const LIBRARIES = '/usr/lib'

/** Debian's `libfaketime`, which gives another process a different wall clock; undefined if it is not installed. */
export const FAKE_TIME_LIBRARY = existsSync(LIBRARIES)
  ? readdirSync(LIBRARIES)
      .map((architecture) => join(LIBRARIES, architecture, 'faketime/libfaketimeMT.so.1'))
      .find((file) => existsSync(file))
  : undefined

/**
 * The wall clock of another process; its elapsed time stays the machine's. `file` is where the two agree on the time.
 */
export function fakeTime(library: string, file: string) {
  return {
    /** Environment for the process. */
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
    },
    /** Sets the clock, which then goes on from there: at once for the process that has it. */
    async set(ms: number) {
      const offset = (ms - Date.now()) / 1000
      await writeFile(file, `${offset < 0 ? '' : '+'}${offset.toFixed(3)}\n`)
    },
  }
}
