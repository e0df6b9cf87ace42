import { asciiLowerCase } from './ascii-case.ts'
import type { JsonObject } from './json-object.ts'

/**
 * Returns the candidate that equals `written`. If there is none, returns the first candidate that differs from it only
 * in letter case.
 */
export function canonicalName(written: string, candidates: readonly string[]): string | undefined {
  if (candidates.includes(written)) return written
  const lowered = asciiLowerCase(written)
  return candidates.find((name) => asciiLowerCase(name) === lowered)
}

/** Returns all spellings of `name` among `members`. Skips members with the value undefined. */
export function spellingsOf(
  members: JsonObject,
  name: string,
  candidates: readonly string[] = [name],
): readonly string[] {
  return Object.keys(members).filter(
    (written) => members[written] !== undefined && canonicalName(written, candidates) === name,
  )
}
