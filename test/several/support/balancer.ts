import { createServer, request } from 'node:http'
import { onLoopback } from '../../support/on-loopback.ts'

/** Stands before several processes of a server, and hands each request to another one in turn. */
export interface Balancer {
  /** With a slash at the end. */
  readonly url: string
  /** Ports of those that serve now. */
  use(...ports: readonly number[]): void
  close(): Promise<void>
}

export async function startBalancer(): Promise<Balancer> {
  let ports: readonly number[] = []
  let turn = 0
  const server = createServer((req, res) => {
    const port = ports[turn % ports.length]
    turn += 1
    const { method = 'GET', url: path = '/', headers } = req
    const forwarded = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(res)
    })
    forwarded.on('error', () => res.writeHead(502).end())
    req.pipe(forwarded)
  })
  const { url, close } = await onLoopback(server)
  return {
    url: `${url}/`,
    use(...given) {
      ports = given
      turn = 0
    },
    close,
  }
}
