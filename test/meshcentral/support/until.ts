const EVERY_MS = 15
const LIMIT_MS = 30_000

/**
 * Waits for what another process does without saying so, such as writing to a file: asks again and again until the
 * answer is there.
 *
 * @param what is waited for, for the error
 * @throws Error after 30 s
 */
export async function until<Answer>(
  what: string,
  ask: () => Answer | undefined | false | Promise<Answer | undefined | false>,
  limitMs = LIMIT_MS,
): Promise<Answer> {
  const end = performance.now() + limitMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined && answer !== false) return answer
    if (performance.now() > end) throw new Error(`waited ${limitMs} ms in vain for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
  }
}
