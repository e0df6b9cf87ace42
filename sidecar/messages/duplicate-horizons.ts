import type { HistorySettings } from '../config/settings.ts'

const MS_PER_MINUTE = 60_000
const MS_PER_SECOND = 1000

/**
 * Returns the milliseconds within which an equal message is a duplicate: `numbered` for messages with a sequence id,
 * otherwise `unnumbered`.
 */
export function horizonsMs({ duplicateMinutes, duplicateSecondsUnnumbered }: HistorySettings) {
  const numbered = Math.round(duplicateMinutes * MS_PER_MINUTE)
  const unnumbered = Math.round(duplicateSecondsUnnumbered * MS_PER_SECOND)
  return { numbered, unnumbered, longest: Math.max(numbered, unnumbered) }
}
