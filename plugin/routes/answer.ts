import type { Request } from 'express'
import { membersOf } from '../config/json/json-object.ts'

/** Every answer of an IdP contains at least one of these parameters. A signed answer is in `response`. */
const ANSWER_PARAMETERS = ['state', 'code', 'error', 'response']

/** Returns the parameters of a request to the redirect path. Reads them from the address or from the posted form. */
export function answerOf(req: Request): URLSearchParams {
  if (req.method !== 'POST') return new URLSearchParams(queryOf(req.originalUrl))
  const answer = new URLSearchParams()
  for (const [name, field] of Object.entries(membersOf(req.body))) {
    // Keep a repeated field repeated, so that it is refused. Otherwise two functions could read different values. A
    // field that the parser made an object becomes empty, and is refused too.
    for (const value of [field].flat()) answer.append(name, typeof value === 'string' ? value : '')
  }
  return answer
}

/** Returns the query of an address, without its question mark and fragment. */
export function queryOf(address: string): string {
  const start = address.indexOf('?')
  if (start === -1) return ''
  const end = address.indexOf('#', start)
  return address.slice(start + 1, end === -1 ? undefined : end)
}

/** Whether the parameters of a request to the redirect path contain an answer of an IdP. */
export function isAnswer(parameters: URLSearchParams): boolean {
  return ANSWER_PARAMETERS.some((name) => parameters.has(name))
}

/** Whether the browser only prefetches a page that the user may never open. A prefetch must not use up a login. */
export function isPrefetch(req: Request): boolean {
  return ['sec-purpose', 'purpose', 'x-moz'].some((name) => String(req.headers[name] ?? '').includes('prefetch'))
}
