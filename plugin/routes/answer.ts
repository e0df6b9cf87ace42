import type { Request } from 'express'

/** One of them is in every answer of an IdP; in `response` where it is signed as a whole. */
const MARKS = ['state', 'code', 'error', 'response']

/** The parameters of a request to the redirect path: of its address, or of a posted form. */
export function answerOf(req: Request): URLSearchParams {
  if (req.method !== 'POST') return new URL(req.originalUrl, 'http://here.invalid').searchParams
  const body: unknown = req.body
  const answer = new URLSearchParams()
  for (const [name, value] of Object.entries(typeof body === 'object' && body !== null ? body : {})) {
    // A repeated field stays repeated, so that it is refused later instead of being read in one of two ways.
    for (const one of [value].flat()) answer.append(name, String(one))
  }
  return answer
}

/** Whether a request to the redirect path brings an answer at all. */
export function bringsAnswer(req: Request): boolean {
  const answer = answerOf(req)
  return MARKS.some((name) => answer.has(name))
}

/** Whether a browser asks ahead of the person, who may never come: such a request must not use up a login. */
export function isPrefetch(req: Request): boolean {
  return ['sec-purpose', 'purpose', 'x-moz'].some((name) => String(req.headers[name] ?? '').includes('prefetch'))
}
