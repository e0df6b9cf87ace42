import type { HistorySettings } from '../config/settings.ts'

const MS_PER_MINUTE = 60_000
const MS_PER_SECOND = 1000

/**
 * How long after a message with a sequence id, and after one without, an equal one is a copy of it, and the longer of
 * the two; in whole milliseconds.
 */
export function horizonsMs({ duplicateMinutes, duplicateSecondsUnnumbered }: HistorySettings) {
  const numbered = Math.round(duplicateMinutes * MS_PER_MINUTE)
  const unnumbered = Math.round(duplicateSecondsUnnumbered * MS_PER_SECOND)
  return { numbered, unnumbered, longest: Math.max(numbered, unnumbered) }
}
