import type { HistorySettings } from '../config/settings.ts'

const MS_PER_MINUTE = 60_000
const MS_PER_SECOND = 1000

/**
 * Returns for how long an equal message counts as a duplicate: of a message with a sequence id, of one without, and the
 * longer of the two; in whole milliseconds.
 */
export function horizonsMs({ duplicateMinutes, duplicateSecondsUnnumbered }: HistorySettings) {
  const numbered = Math.round(duplicateMinutes * MS_PER_MINUTE)
  const unnumbered = Math.round(duplicateSecondsUnnumbered * MS_PER_SECOND)
  return { numbered, unnumbered, longest: Math.max(numbered, unnumbered) }
}
