/** The answer to one question, with what to do where it is not `ok`. */
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
