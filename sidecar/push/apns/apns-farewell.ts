import type { ClientHttp2Session } from 'node:http2'

/**
 * Has the client of a `node-apn` provider wait for what APNs still answers after a GOAWAY (RFC 9113, 6.8). By itself it
 * drops the connection at once, and what was in flight counts as lost: sent again, it rang a second time on each of
 * those phones. Where a later version has no such member, nothing is changed.
 */
export function waitForLastAnswers(provider: object): void {
  const client: unknown = Reflect.get(provider, 'client')
  if (typeof client !== 'object' || client === null || !('destroySession' in client)) return
  client.destroySession = (session: ClientHttp2Session | undefined) => {
    // One that is closed ends by itself: with its last answer, or with the time limit of what gets none.
    if (session && !session.closed) session.destroy()
  }
}
