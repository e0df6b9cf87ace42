import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { passcodeOf } from '../../aprs/passcode.ts'
import { type Reading, readSettings } from './read.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Loads the configuration from the JSON file `file` and the `SIDECAR_…` variables of `env`. A variable overrides the
 * file. Returns all mistakes at once.
 */
export function loadSettings(file: string, env: Environment): Reading {
  let text: string
  try {
    text = readFile(file)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    const reason = `names ${file}, which cannot be read (${code})`
    const remedy = 'Set --config to a JSON file that the sidecar may read.'
    return { problems: [{ path: '--config', reason, remedy }], warnings: [] }
  }
  return settingsFrom(text, dirname(resolve(file)), env, resolve(file))
}

/** Loads the configuration from a JSON text. Paths are relative to `folder`; problems name `file` as source. */
export function settingsFrom(text: string, folder: string, env: Environment = {}, file?: string): Reading {
  return readSettings({ text, file, env, folder, readFile, passcodeOf })
}

function readFile(path: string): string {
  return readFileSync(path, 'utf8')
}
