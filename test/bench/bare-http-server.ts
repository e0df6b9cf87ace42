import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { connect } from 'node:net'
import { onLoopback } from '../support/on-loopback.ts'

/** Orders for the server at its start. */
interface BareOrder {
  /** Headers of its answer to every known station. */
  readonly headers: Readonly<Record<string, string>>
  /** In base64. */
  readonly body: string
  readonly stations: readonly string[]
  /** Where it logs in, to read what comes and leave it. */
  readonly upstreamPort: number
  /** In PEM, where it is to serve TLS. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined
}

/**
 * The yardstick: Node's HTTP or HTTPS server, which reads the request's JSON, looks the station up, and sends what it
 * is given. It checks nothing, and what comes from upstream it takes and stores nothing of. @returns its port
 */
export async function serve({ headers, body, stations, upstreamPort, certificate }: BareOrder): Promise<number> {
  const bytes = Buffer.from(body, 'base64')
  const stationSet = new Set(stations)
  connect(upstreamPort, '127.0.0.1').resume().write('user BARE pass -1\r\n')
  const answer: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { callsign } = JSON.parse(Buffer.concat(chunks).toString()) as { callsign: string }
      response.writeHead(stationSet.has(callsign) ? 200 : 404, headers)
      response.end(bytes)
    })
  }
  const server = certificate ? createTlsServer(certificate, answer) : createServer(answer)
  return (await onLoopback(server)).port
}
