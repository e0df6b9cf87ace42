import type { HistorySettings } from '../config/settings.ts'

const MS_PER_MINUTE = 60_000
const MS_PER_SECOND = 1000

/**
 * Returns for how long after a message an equal one is a duplicate, in whole milliseconds. `numbered` is for messages
 * with a sequence id, `unnumbered` for others; `longest` is the longer of the two.
 */
export function horizonsMs({ duplicateMinutes, duplicateSecondsUnnumbered }: HistorySettings) {
  const numbered = Math.round(duplicateMinutes * MS_PER_MINUTE)
  const unnumbered = Math.round(duplicateSecondsUnnumbered * MS_PER_SECOND)
  return { numbered, unnumbered, longest: Math.max(numbered, unnumbered) }
}
