import { asciiLowerCase } from './ascii-case.ts'
import type { JsonObject } from './json-object.ts'

/**
 * Finds the candidate that a written name stands for: the same name, or else the first that differs only in letter
 * case.
 */
export function canonicalName(written: string, candidates: readonly string[]): string | undefined {
  if (candidates.includes(written)) return written
  const lowered = asciiLowerCase(written)
  return candidates.find((name) => asciiLowerCase(name) === lowered)
}

/** Returns the spellings of `name` in `members`, without members that are undefined. */
export function spellingsOf(
  members: JsonObject,
  name: string,
  candidates: readonly string[] = [name],
): readonly string[] {
  return Object.keys(members).filter(
    (written) => members[written] !== undefined && canonicalName(written, candidates) === name,
  )
}
