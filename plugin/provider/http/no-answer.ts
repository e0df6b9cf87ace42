import { causes } from '../../log.ts'

/** Whether a request got no answer at all: no connection came about, it was lost, or the time was up. What has a status was answered. */
export function gotNoAnswer(error: unknown): boolean {
  return causes(error).some(
    (cause) =>
      (cause instanceof DOMException && (cause.name === 'TimeoutError' || cause.name === 'AbortError')) ||
      // How `fetch` reports that no connection came about.
      (cause instanceof TypeError && cause.cause instanceof Error),
  )
}
