import type { ClientHttp2Session } from 'node:http2'

/**
 * Makes `node-apn` wait for the answers that APNs sends after announcing the end of a connection (GOAWAY; RFC 9113,
 * 6.8). By default, it drops the connection and reports the notifications in flight as failed. They would be sent
 * again, and phones would ring twice.
 */
export function waitForLastAnswers(provider: object): void {
  const client: unknown = Reflect.get(provider, 'client')
  // A later version may have no `destroySession`.
  if (typeof client !== 'object' || client === null || !('destroySession' in client)) return
  client.destroySession = (session: ClientHttp2Session | undefined) => {
    // A closed HTTP/2 session ends by itself, after its last answer or the time limit of its requests.
    if (session && !session.closed) session.destroy()
  }
}
