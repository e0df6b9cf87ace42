import { createServer, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { onLoopback } from './on-loopback.ts'

export interface ConnectProxyOptions {
  /** `user:password` that clients must send. Default: none. */
  readonly credentials?: string
  /** Bytes that answer CONNECT instead of a tunnel. Null: no answer. */
  readonly answer?: string | null
  /** Port of 127.0.0.1 to which every tunnel leads. Default: the requested address. */
  readonly to?: number
}

/** An HTTP proxy on 127.0.0.1, for the environment variables `HTTPS_PROXY` and `HTTP_PROXY`. */
export type ConnectProxy = Awaited<ReturnType<typeof startConnectProxy>>

export async function startConnectProxy(options: ConnectProxyOptions = {}) {
  /** `host:port` of every CONNECT request that the proxy accepted. */
  const tunnels: string[] = []
  /** Addresses of the requests that the proxy forwarded without a tunnel. */
  const relayed: string[] = []
  /** The open connections to the proxy. */
  const sockets = new Set<Socket>()
  const wanted = options.credentials && `Basic ${Buffer.from(options.credentials).toString('base64')}`
  const isKnown = (shown: string | undefined) => wanted === undefined || shown === wanted

  const server = createServer((req, res) => {
    if (!isKnown(req.headers['proxy-authorization'])) return res.writeHead(407).end()
    relayed.push(req.url ?? '')
    const { 'proxy-authorization': _own, ...headers } = req.headers
    const onward = request(req.url ?? '', { method: req.method, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(res)
    })
    onward.on('error', () => res.destroy())
    return req.pipe(onward)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
  })
  server.on('connect', (req, socket: Socket) => {
    if (options.answer === null) return socket.resume().on('end', () => socket.end())
    if (options.answer !== undefined) return socket.end(options.answer)
    if (!isKnown(req.headers['proxy-authorization'])) {
      return socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    }
    tunnels.push(req.url ?? '')
    const { hostname, port } = new URL(`tcp://${req.url}`)
    const onward = connect(options.to ?? Number(port), options.to === undefined ? hostname : '127.0.0.1')
    onward.on('error', () => socket.destroy()).on('close', () => socket.destroy())
    socket.on('close', () => onward.destroy())
    onward.once('connect', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      onward.pipe(socket).pipe(onward)
    })
    return undefined
  })
  const { port, close } = await onLoopback(server)
  return {
    port,
    tunnels,
    relayed,
    sockets,
    close() {
      for (const socket of sockets) socket.destroy()
      return close()
    },
  }
}
