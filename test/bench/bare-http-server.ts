import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { connect } from 'node:net'
import { onLoopback } from '../support/on-loopback.ts'

/** Parameters of the server at its start. */
interface BareOrder {
  /** Headers of the answer to every known station. */
  readonly headers: Readonly<Record<string, string>>
  /** Body of the answer, in base64. */
  readonly body: string
  readonly stations: readonly string[]
  /** Port of the APRS-IS server to which it logs in. It reads and discards the lines. */
  readonly upstreamPort: number
  /** Certificate and key in PEM, to serve TLS; undefined for plain HTTP. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined
}

/**
 * Serves the peer of the comparison: the HTTP or HTTPS server of Node.js. It parses the request's JSON, looks up the
 * station, and sends a fixed answer. It checks nothing, and stores no messages from APRS-IS.
 *
 * @returns its port
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
