import { request } from 'node:http'
import { isIPv6 } from 'node:net'
import type { Settings } from '../../config/settings.ts'

/** The outcome of a request to a running sidecar. */
export type SidecarAnswer<Body> =
  | { readonly kind: 'answered'; readonly body: Body }
  | { readonly kind: 'refused'; readonly message: string }
  /** No sidecar answers at the address in the setting `admin`. */
  | { readonly kind: 'absent'; readonly message: string }

/** Time limit of a request, in milliseconds. It is longer than a test notification may take. */
const ANSWER_WITHIN_MS = 15_000
/** Limit of an answer's size. The largest answers have 1,000 stations, or the messages of the largest ring. */
const MAX_ANSWER_BYTES = 10_000_000

/**
 * Sends a request to the operator's port at `admin`: a POST request with `body` as JSON, or a GET request without it.
 * Never rejects.
 */
export async function askSidecar<Body>(
  { host, port }: Settings['admin'],
  path: string,
  body?: object,
): Promise<SidecarAnswer<Body>> {
  const address = reachable(host)
  const where = `http://${isIPv6(address) ? `[${address}]` : address}:${port}`
  const absent = (reason: string): SidecarAnswer<Body> => ({
    kind: 'absent',
    message: `No sidecar answers at ${where} (${reason}). Start it, or check admin.host and admin.port.`,
  })
  if (port === 0)
    return {
      kind: 'absent',
      message:
        'admin.port is 0, so the sidecar chooses another port at each start, and no command can find it. Set admin.port to a fixed port, and restart the sidecar.',
    }
  try {
    const { status, text } = await send({ host: address, port, path }, body)
    const answer: unknown = JSON.parse(text)
    if (status === 200) return { kind: 'answered', body: answer as Body }
    const { error, message } = Object(answer) as Readonly<Record<string, unknown>>
    if (typeof error !== 'string' || error === 'not_found')
      return absent('the program at this address does not know the request')
    return { kind: 'refused', message: String(message) }
  } catch (error) {
    return absent(error instanceof SyntaxError ? 'another program answers there' : reasonOf(error))
  }
}

/** Returns an address at which a server that listens on `host` can be reached from this machine. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '::1' : host
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message
}

/** Sends one request. `fetch` is not used, because it refuses some ports and may use a proxy. */
function send(
  target: { readonly host: string; readonly port: number; readonly path: string },
  body: object | undefined,
): Promise<{ readonly status: number; readonly text: string }> {
  const headers = { 'Content-Type': 'application/json', Connection: 'close' }
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS)
  return new Promise((resolve, reject) => {
    const clientRequest = request({ ...target, method: body ? 'POST' : 'GET', headers, signal }, (response) => {
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > MAX_ANSWER_BYTES) clientRequest.destroy(new Error('its answer is too large'))
        else chunks.push(chunk)
      })
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }))
    })
    clientRequest.on('error', reject)
    clientRequest.end(body && JSON.stringify(body))
  })
}
