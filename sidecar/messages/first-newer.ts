/** Returns the index of the first entry above `since` in the ascending `times`, or `times.length` if there is none. */
export function firstNewer(times: readonly number[], since: number): number {
  let low = 0
  let high = times.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((times[middle] as number) > since) high = middle
    else low = middle + 1
  }
  return low
}
