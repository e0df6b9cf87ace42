import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { onLoopback } from './on-loopback.ts'

/** Extra addresses that lead to the endpoints of an identity provider. They count the requests that use them. */
export type Doors = Awaited<ReturnType<typeof openDoors>>

/** Serves such extra addresses of an IdP. Forwards requests of the host, and redirects browsers. */
export async function openDoors() {
  const targets = new Map<string, string>()
  const visits = new Map<string, number>()

  async function lead(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { pathname, search } = new URL(req.url ?? '/', 'http://door.invalid')
    const name = pathname.slice(1)
    const target = targets.get(name)
    if (target === undefined) return void res.writeHead(404).end()
    visits.set(name, (visits.get(name) ?? 0) + 1)
    if (req.headers.accept?.includes('text/html')) return void res.writeHead(302, { location: target + search }).end()
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk)
    const { authorization, accept, 'content-type': type } = req.headers
    const headers = Object.entries({ authorization, accept, 'content-type': type })
    const answer = await fetch(target + search, {
      method: req.method ?? 'GET',
      headers: headers.flatMap(([key, value]): [string, string][] => (value === undefined ? [] : [[key, value]])),
      ...(chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}),
    })
    res.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
    res.end(await answer.text())
  }

  const server = createServer((req, res) => {
    lead(req, res).catch(() => res.destroy())
  })
  const { url, close } = await onLoopback(server)
  return {
    /** Returns an address that leads to `target` from now on. */
    to(name: string, target: string) {
      targets.set(name, target)
      return `${url}/${name}`
    },
    /** Returns the number of requests to this address so far. */
    visits: (name: string) => visits.get(name) ?? 0,
    close,
  }
}
