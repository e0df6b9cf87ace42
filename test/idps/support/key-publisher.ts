import { createServer } from 'node:http'
import { onLoopback } from '../../support/on-loopback.ts'
import type { ClientRegistration } from './real-idp.ts'

type KeySet = NonNullable<ClientRegistration['jwks']>

/** Publishes a client's keys at an address, for providers that do not accept keys by value. */
export interface KeyPublisher {
  /** Publishes these keys instead of the previous ones and returns their address. */
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
      // A new address each time, because providers cache what they fetched.
      versions += 1
      return `${url}/${versions}`
    },
    close,
  }
}
