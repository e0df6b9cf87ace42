import { createServer, request } from 'node:http'
import { onLoopback } from '../../support/on-loopback.ts'

/** A load balancer: sends requests to several processes of a server in turn. */
export interface Balancer {
  /** The address, with a slash at the end. */
  readonly url: string
  /** Sets the ports of the processes that get requests from now on. */
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
