import type { HistorySettings } from '../../../config/settings.ts'

const MS_PER_MINUTE = 60_000
const MS_PER_SECOND = 1000

/** How long after a message with a sequence id, and after one without, an equal one is a copy of it; in milliseconds. */
export function horizonsMs({ duplicateMinutes, duplicateSecondsUnnumbered }: HistorySettings) {
  return { numbered: duplicateMinutes * MS_PER_MINUTE, unnumbered: duplicateSecondsUnnumbered * MS_PER_SECOND }
}
