import type { Request } from 'express'
import { membersOf } from '../config/json/json-object.ts'

/** One of them is in every answer of an IdP; in `response` where it is signed as a whole. */
const MARKS = ['state', 'code', 'error', 'response']

/** The parameters of a request to the redirect path: of its address, or of a posted form. */
export function answerOf(req: Request): URLSearchParams {
  if (req.method !== 'POST') return new URLSearchParams(queryOf(req.originalUrl))
  const answer = new URLSearchParams()
  for (const [name, value] of Object.entries(membersOf(req.body))) {
    // A repeated field stays repeated, so that it is refused later instead of being read in one of two ways.
    // A parser of the host may have made an object of it, which has no text: it is refused like an empty field.
    for (const one of [value].flat()) answer.append(name, typeof one === 'string' ? one : '')
  }
  return answer
}

export function queryOf(address: string): string {
  const at = address.indexOf('?')
  if (at === -1) return ''
  const end = address.indexOf('#', at)
  return address.slice(at + 1, end === -1 ? undefined : end)
}

/** Whether the parameters of a request to the redirect path are an answer at all. */
export function isAnswer(answer: URLSearchParams): boolean {
  return MARKS.some((name) => answer.has(name))
}

/** Whether a browser asks ahead of the person, who may never come: such a request must not use up a login. */
export function isPrefetch(req: Request): boolean {
  return ['sec-purpose', 'purpose', 'x-moz'].some((name) => String(req.headers[name] ?? '').includes('prefetch'))
}
