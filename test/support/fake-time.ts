import { existsSync, readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const LIBRARIES = '/usr/lib'

/** Path of Debian's `libfaketime`, which gives a process another wall clock; undefined if it is not installed. */
export const FAKE_TIME_LIBRARY = existsSync(LIBRARIES)
  ? readdirSync(LIBRARIES)
      .map((architecture) => join(LIBRARIES, architecture, 'faketime/libfaketimeMT.so.1'))
      .find((file) => existsSync(file))
  : undefined

/**
 * Controls the wall clock of another process through `file`, which that process reads. Its monotonic clock is
 * unchanged.
 */
export function fakeTime(library: string, file: string) {
  return {
    /** Environment variables for the process. */
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
    },
    /** Sets the clock of the process at once. It then continues from there. */
    async set(ms: number) {
      const offset = (ms - Date.now()) / 1000
      await writeFile(file, `${offset < 0 ? '' : '+'}${offset.toFixed(3)}\n`)
    },
  }
}
