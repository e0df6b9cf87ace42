import { asciiLowerCase } from './ascii-case.ts'
import type { JsonObject } from './json-object.ts'

/** Which of the `known` names a member means: that very name, else the first that differs in letter case only. */
export function canonicalName(written: string, known: readonly string[]): string | undefined {
  if (known.includes(written)) return written
  const lowered = asciiLowerCase(written)
  return known.find((name) => asciiLowerCase(name) === lowered)
}

/** The names in `members` that mean `name`, as they are written there; not those of what is undefined. */
export function spellingsOf(members: JsonObject, name: string, known: readonly string[] = [name]): readonly string[] {
  return Object.keys(members).filter(
    (written) => members[written] !== undefined && canonicalName(written, known) === name,
  )
}
