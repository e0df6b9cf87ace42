import type { ServerProcess } from './server-process.ts'

const LIMIT_MS = 30_000
/** Tokens of the master realm are valid for a minute. */
const TOKEN_MS = 40_000

/** Keycloak's admin REST API. Paths are relative to `/admin/realms`. */
export interface Admin {
  get<Answer>(path: string): Promise<Answer>
  post(path: string, body?: unknown): Promise<void>
  put(path: string, body?: unknown): Promise<void>
  delete(path: string): Promise<void>
}

export function connectAdmin({ port, administrator }: ServerProcess): Admin {
  const base = `http://127.0.0.1:${port}`
  let token = { text: '', until: 0 }

  async function freshToken(): Promise<string> {
    if (token.until > Date.now()) return token.text
    const answer = await fetch(`${base}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', ...administrator }),
      signal: AbortSignal.timeout(LIMIT_MS),
    })
    const { access_token: text } = (await answer.json()) as { access_token: string }
    token = { text, until: Date.now() + TOKEN_MS }
    return text
  }

  async function request(method: string, path: string, body?: unknown): Promise<Response> {
    const answer = await fetch(`${base}/admin/realms${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await freshToken()}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(LIMIT_MS),
    })
    if (!answer.ok) throw new Error(`Keycloak answers ${method} ${path} with ${answer.status}: ${await answer.text()}`)
    return answer
  }

  const send = (method: string) => async (path: string, body?: unknown) => {
    await (await request(method, path, body)).arrayBuffer()
  }
  return {
    get: async <Answer>(path: string) => (await (await request('GET', path)).json()) as Answer,
    post: send('POST'),
    put: send('PUT'),
    delete: send('DELETE'),
  }
}
