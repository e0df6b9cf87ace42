import { passcodeOf } from '../../../../sidecar/aprs/passcode.ts'
import type { Problem } from '../../../../sidecar/config/problem.ts'
import { type Reading, readSettings } from '../../../../sidecar/config/reading/read.ts'
import type { Settings } from '../../../../sidecar/config/settings.ts'

export const CALLSIGN = 'N0CALL-10'

/** Files by their absolute paths. */
export type Files = Readonly<Record<string, string>>
interface Surroundings {
  readonly env?: Readonly<Record<string, string>>
  readonly files?: Files
}

/** Reads a configuration in `/etc/sidecar`: a text as it is, or an object to which `aprsis.callsign` is added. */
export function read(config: string | object, { env = {}, files = {} }: Surroundings = {}): Reading {
  return readSettings({
    text: typeof config === 'string' ? config : JSON.stringify({ aprsis: { callsign: CALLSIGN }, ...config }),
    env,
    folder: '/etc/sidecar',
    readFile(path) {
      const text = files[path]
      if (text === undefined) throw Object.assign(new Error(`no such file ${path}`), { code: 'ENOENT' })
      return text
    },
    passcodeOf,
  })
}

export function settingsRead(...parts: Parameters<typeof read>): Settings {
  const outcome = read(...parts)
  if ('problems' in outcome) throw new Error(JSON.stringify(outcome.problems))
  return outcome.settings
}

export function problemsOf(...parts: Parameters<typeof read>): readonly Problem[] {
  const outcome = read(...parts)
  return 'problems' in outcome ? outcome.problems : []
}

/** Returns the paths of the members that have problems. */
export const pathsOf = (...parts: Parameters<typeof read>): readonly string[] =>
  problemsOf(...parts).map(({ path }) => path)
