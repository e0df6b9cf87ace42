const EVERY_MS = 15
const LIMIT_MS = 30_000

/**
 * Polls every 15 ms for a change in another process that sends no event, such as a write to a file.
 *
 * @param what names the change, for the error
 * @throws Error after 30 s
 */
export async function until<Answer>(
  change: string,
  ask: () => Answer | undefined | false | Promise<Answer | undefined | false>,
  limitMs = LIMIT_MS,
): Promise<Answer> {
  const end = performance.now() + limitMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined && answer !== false) return answer
    if (performance.now() > end) throw new Error(`timed out after ${limitMs} ms waiting for ${change}`)
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
  }
}
