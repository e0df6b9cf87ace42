import { canonicalKey } from './station.ts'

/** Whether a call is on a list. */
export type CallList = (call: string) => boolean

/**
 * A list of calls: each as it is, letter case and an SSID of 0 aside, or with a final `*`, which stands for any end. A look-up takes the
 * same time however long the list is.
 */
export function callList(entries: readonly string[]): CallList {
  const whole = new Set<string>()
  const beginnings = new Map<number, Set<string>>()
  for (const entry of entries) {
    if (!entry.endsWith('*')) {
      whole.add(canonicalKey(entry))
      continue
    }
    const beginning = entry.slice(0, -1).toUpperCase()
    const alike = beginnings.get(beginning.length) ?? new Set()
    beginnings.set(beginning.length, alike.add(beginning))
  }
  if (entries.length === 0) return () => false
  return (call) => {
    if (whole.has(canonicalKey(call))) return true
    const upper = call.toUpperCase()
    for (const [length, alike] of beginnings) if (alike.has(upper.slice(0, length))) return true
    return false
  }
}
