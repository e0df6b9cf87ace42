/** Returns the index of the first of the ascending `times` that is above `since`, or their number if none is. */
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
