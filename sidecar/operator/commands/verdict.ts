/** The result of one live check of `--check`. Unless it is `ok`, its text says what to do. */
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
