import type { ScriptedBrowser } from '../../../../fixtures/browser.ts'

const LIMIT_MS = 15_000

/** Glewlwyd's REST API, as its own pages use it. */
export interface Api {
  /** Returns the JSON of the answer, if any. @throws Error with status and answer */
  call(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<unknown>
}

/** @param jar the cookies that are sent; new ones are stored in it */
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
