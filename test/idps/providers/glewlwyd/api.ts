import type { ScriptedBrowser } from '../../../../fixtures/browser.ts'

const LIMIT_MS = 15_000

/** Its REST interface, as its own pages use it. */
export interface Api {
  /** The answer's JSON, where it has any. @throws Error with status and answer */
  call(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<unknown>
}

/** @param jar whose cookies it goes with, and which keeps the new ones */
export function apiAt(origin: string, jar: ScriptedBrowser['cookies']): Api {
  return {
    async call(method, path, body) {
      const url = new URL(`${origin}/api${path}`)
      const cookie = jar.header(url)
      const answer = await fetch(url, {
        method,
        redirect: 'manual',
        signal: AbortSignal.timeout(LIMIT_MS),
        headers: {
          ...(cookie === undefined ? {} : { cookie }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      jar.store(url, answer.headers.getSetCookie())
      const text = await answer.text()
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 500)}`)
      return text === '' ? undefined : JSON.parse(text)
    },
  }
}
