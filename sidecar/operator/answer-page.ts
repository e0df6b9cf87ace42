import { POLICY } from './page/style.ts'

/** An answer from the operator's port. */
export interface Page {
  readonly status: number
  readonly contentType: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

export function jsonPage(status: number, body: object): Page {
  return { status, contentType: 'application/json', body: `${JSON.stringify(body)}\n` }
}

/** Returns an HTML page, which must comply with {@link POLICY}. */
export function htmlPage(body: string): Page {
  const headers = { 'Content-Security-Policy': POLICY, 'Referrer-Policy': 'no-referrer' }
  return { status: 200, contentType: 'text/html; charset=utf-8', body, headers }
}
