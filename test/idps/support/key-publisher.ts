import { createServer } from 'node:http'
import { onLoopback } from '../../support/on-loopback.ts'
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
  })
  const { url, close } = await onLoopback(server)
  let versions = 0
  return {
    addressOf(keys) {
      published = keys
      // Another address each time: providers keep what they have fetched.
      versions += 1
      return `${url}/${versions}`
    },
    close,
  }
}
