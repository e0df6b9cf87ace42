/** The result of one check. Its text says what to do unless it is `ok`. */
export interface Verdict {
  readonly verdict: 'ok' | 'warn' | 'fail'
  readonly text: string
}

export function ok(text: string): Verdict {
  return { verdict: 'ok', text }
}

export function fail(text: string): Verdict {
  return { verdict: 'fail', text }
}
