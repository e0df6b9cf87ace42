import { type Agent, type IncomingMessage, request } from 'node:http'
import { request as requestTls } from 'node:https'

interface PostOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly agent?: Agent
  /** CA of the server's certificate, in PEM. */
  readonly ca?: string | undefined
}

/** Sends a POST request with a JSON body. Resolves with the answer, whose body is not read yet. */
export function postJson(url: string, body: object, { headers, ...options }: PostOptions): Promise<IncomingMessage> {
  const send = url.startsWith('https:') ? requestTls : request
  return new Promise((resolve, reject) => {
    send(url, { ...options, method: 'POST', headers: { 'Content-Type': 'application/json', ...headers } }, resolve)
      .on('error', reject)
      .end(JSON.stringify(body))
  })
}
