import { createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { onLoopback } from '../support/on-loopback.ts'

const BANNER = '# bare 1.0\r\n'
/** Interval of comment lines. Like a real server, it must send them, because clients leave a silent server. */
const COMMENT_EVERY_MS = 20_000

/**
 * A minimal APRS-IS server, so that its cost is negligible. It answers login and filter, and then sends the given
 * lines.
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
    // `lines` emits the errors of the socket, and a leaving client may reset its connection.
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
    /** Resolves at the first login. */
    client,
    /** Sends lines over the newest login, because clients may open a new connection when their filter changes. */
    send(lines: string) {
      const newest = logins.findLast((socket) => socket.writable)
      if (!newest) throw new Error('Nobody is logged in.')
      newest.write(lines)
    },
    /** Calls `listener` with each line that the client sends after its login. */
    onLine: (listener: (line: string) => void) => void listeners.push(listener),
    close: () => {
      clearInterval(comments)
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
