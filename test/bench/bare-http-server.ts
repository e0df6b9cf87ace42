import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What the bare server answers to everything. */
export interface BareAnswer {
  readonly headers: Readonly<Record<string, string>>
  /** In base64. */
  readonly body: string
}

/** The yardstick: Node's HTTP server, which sends what it is given and does nothing else. */
process.on('message', ({ headers, body }: BareAnswer) => {
  const bytes = Buffer.from(body, 'base64')
  const server = createServer((_request, response) => {
    response.writeHead(200, headers)
    response.end(bytes)
  }).listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
})
process.send?.('ready')
