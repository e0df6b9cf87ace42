import { type Agent, type IncomingMessage, request } from 'node:http'
import { request as requestTls } from 'node:https'

interface PostOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly agent?: Agent
  /** In PEM, of who signed the server's certificate. */
  readonly ca?: string | undefined
}

/** The answer as it comes over the wire. */
export function postJson(url: string, body: object, { headers, ...options }: PostOptions): Promise<IncomingMessage> {
  const send = url.startsWith('https:') ? requestTls : request
  return new Promise((resolve, reject) => {
    send(url, { ...options, method: 'POST', headers: { 'Content-Type': 'application/json', ...headers } }, resolve)
      .on('error', reject)
      .end(JSON.stringify(body))
  })
}
