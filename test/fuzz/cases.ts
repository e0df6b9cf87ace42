import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Folder of inputs that once broke something, with a subfolder for each target. */
export const CASES = fileURLToPath(new URL('cases/', import.meta.url))

/** An input that broke something, and what it broke then. */
export interface Case {
  readonly what: string
  /** The bytes of the input, in base64. */
  readonly input: string
}

/** Returns the cases of a target by file name. There are none if the target has no folder. */
export function readCases(target: string, folder = CASES): ReadonlyMap<string, Case> {
  const files = existsSync(join(folder, target)) ? readdirSync(join(folder, target)) : []
  return new Map(files.map((file) => [file, JSON.parse(readFileSync(join(folder, target, file), 'utf8')) as Case]))
}

/** Saves an input as a case. @returns the path of its file */
export function keepCase(target: string, problem: string, input: Buffer, folder = CASES): string {
  const name = createHash('sha256').update(input).digest('hex').slice(0, 12)
  const file = join(folder, target, `${name}.json`)
  mkdirSync(join(folder, target), { recursive: true })
  writeFileSync(file, `${JSON.stringify({ what: problem, input: input.toString('base64') } satisfies Case, null, 2)}\n`)
  return file
}
