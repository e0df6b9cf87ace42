/** Number of successive windows that must agree. */
export const STEADY_WINDOWS = 3
/** Limit of the difference between the largest and the smallest of them, relative to the smallest. */
const STEADY_WITHIN = 0.05

/** Returns whether a rate is steady: the last three windows differ by 5 % at most. */
export function isSteady(windows: readonly number[]): boolean {
  if (windows.length < STEADY_WINDOWS) return false
  const last = windows.slice(-STEADY_WINDOWS)
  const smallest = Math.min(...last)
  return Math.max(...last) - smallest <= STEADY_WITHIN * smallest
}

/**
 * Returns the windows from which the figures are taken. If the rate is steady, these are the last three. If it is not,
 * because the limit of windows was reached, they are the later half: more windows, but none of the warm-up.
 */
export function counted<Window>(windows: readonly Window[], wasSteady: boolean): readonly Window[] {
  const count = wasSteady ? STEADY_WINDOWS : Math.ceil(windows.length / 2)
  return windows.slice(-Math.max(count, STEADY_WINDOWS))
}
