import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { passcodeOf } from './aprs/passcode.ts'
import type { Problem } from './config/problem.ts'
import { readSettings } from './config/read.ts'
import type { Settings } from './config/settings.ts'

type Environment = Readonly<Record<string, string | undefined>>
type Outcome = { readonly settings: Settings } | { readonly problems: readonly Problem[] }

/** The configuration in the JSON file `file` with the `SIDECAR_…` variables of `env` laid over it, or every mistake at once. */
export function loadSettings(file: string, env: Environment): Outcome {
  let text: string
  try {
    text = readFile(file)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    const reason = `names ${file}, which cannot be read (${code})`
    return { problems: [{ path: '--config', reason, remedy: 'Name a JSON file that the sidecar may read.' }] }
  }
  return settingsFrom(text, dirname(resolve(file)), env)
}

/** The same from a JSON text; relative paths in it start from `folder`. */
export function settingsFrom(text: string, folder: string, env: Environment = {}): Outcome {
  return readSettings({ text, env, folder, readFile, passcodeOf })
}

function readFile(path: string): string {
  return readFileSync(path, 'utf8')
}
