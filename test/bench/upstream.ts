import { createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { onLoopback } from '../support/on-loopback.ts'

const BANNER = '# bare 1.0\r\n'
/** Real servers do so: a client leaves a silent one, and it may be silent while another sidecar is loaded. */
const COMMENT_EVERY_MS = 20_000

/**
 * The least that a client takes for an APRS-IS server, so that its cost does not count: login, filter, then lines as
 * given.
 */
export type BareUpstream = Awaited<ReturnType<typeof bareUpstream>>

export async function bareUpstream() {
  const listeners: ((line: string) => void)[] = []
  const sockets = new Set<Socket>()
  const logins: Socket[] = []
  let announce: (socket: Socket) => void = () => undefined
  const client = new Promise<Socket>((resolve) => {
    announce = resolve
  })
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
    socket.setNoDelay(true)
    socket.write(BANNER)
    const lines = createInterface({ input: socket })
    // It passes on what the socket says, and a client that leaves may reset its connection.
    lines.on('error', () => socket.destroy())
    lines.on('line', (line) => {
      const [, call] = /^user (\S+) pass /.exec(line) ?? []
      if (call) {
        socket.write(`# logresp ${call} verified, server BARE\r\n`)
        logins.push(socket)
        announce(socket)
      } else if (line.startsWith('#filter ')) {
        socket.write(`# filter ${line.slice('#filter '.length, '#filter '.length + 255)} active\r\n`)
      } else {
        for (const listener of listeners) listener(line)
      }
    })
  })
  const { port } = await onLoopback(server)
  const comments = setInterval(() => {
    for (const socket of sockets) socket.write(BANNER)
  }, COMMENT_EVERY_MS)
  return {
    port,
    /** The first login. */
    client,
    /** Sends lines over the newest login: clients open and leave connections when their filter changes. */
    send(lines: string) {
      const newest = logins.findLast((socket) => socket.writable)
      if (!newest) throw new Error('Nobody is logged in.')
      newest.write(lines)
    },
    /** Lines that the client sent, after its login. */
    onLine: (listener: (line: string) => void) => void listeners.push(listener),
    close: () => {
      clearInterval(comments)
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
