import type { HistorySettings } from '../config/settings.ts'

const MS_PER_MINUTE = 60_000
const MS_PER_SECOND = 1000

/**
 * Returns the times, in whole milliseconds, within which an equal message is a duplicate of an earlier one. `numbered`
 * applies to messages with a sequence id, and `unnumbered` to others. `longest` is the longer of the two.
 */
export function horizonsMs({ duplicateMinutes, duplicateSecondsUnnumbered }: HistorySettings) {
  const numbered = Math.round(duplicateMinutes * MS_PER_MINUTE)
  const unnumbered = Math.round(duplicateSecondsUnnumbered * MS_PER_SECOND)
  return { numbered, unnumbered, longest: Math.max(numbered, unnumbered) }
}
