import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ClientRegistration } from './real-idp.ts'

type KeySet = NonNullable<ClientRegistration['jwks']>

/** An address for a client's keys, for providers that take no keys but by address. */
export interface KeyPublisher {
  /** For the keys given last. */
  addressOf(keys: KeySet): string
  close(): Promise<void>
}

export async function publishKeys(): Promise<KeyPublisher> {
  let published: KeySet = { keys: [] }
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(published))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  let versions = 0
  return {
    addressOf(keys) {
      published = keys
      // Another address each time: providers keep what they have fetched.
      versions += 1
      return `http://127.0.0.1:${port}/${versions}`
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}
