import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ListenError, listenHttp } from '../../api/http-listener.ts'
import { createApiServer } from '../../api/http-server.ts'
import { isProxyBy } from '../../api/requests/client-address.ts'
import { NGINX_LINE, trustLine } from '../../api/requests/proxy-warnings.ts'
import type { ListenSettings } from '../../config/settings.ts'
import { errorText } from './error-text.ts'
import { fail, ok, type Verdict } from './verdict.ts'

/**
 * The client address in the header X-Forwarded-For of the test request. It is reserved for documentation (RFC 5737).
 */
const CLIENT_ADDRESS = '192.0.2.77'
const LIMIT_MS = 10_000

/** Properties of the test request as it arrived. `peer`: the address from which it came. */
interface Arrival {
  readonly peer: string | undefined
  /** Whether a proxy has appended a client address to the header X-Forwarded-For. */
  readonly hasClientAddress: boolean
}

/**
 * Sends a request to the public address, and checks that it arrives with the client's address, from a trusted proxy.
 * The sidecar must not run. Never rejects.
 */
export async function checkPublic(listen: ListenSettings, address: string): Promise<Verdict> {
  const subject = `Public address ${address}`
  const path = `/v1/${randomBytes(16).toString('hex')}`
  let arrival: Arrival | undefined
  try {
    const { server, scheme } = await createApiServer(listen)
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      // During this check no sidecar is running, so a phone's request gets a 503, and the phone retries later.
      if (request.url === path) arrival = arrivalOf(request)
      response.writeHead(503, { Connection: 'close', 'Content-Length': 0 }).end()
    })
    const listener = await listenHttp(server, scheme, listen.host, listen.port)
    const failure = await ask(new URL(path, address)).finally(listener.close)
    if (!arrival) return fail(`${subject}: ${failure}. Check the host name, the proxy, and listen.port.`)
    const changes = changesFor(arrival, listen, address.startsWith('https:') && scheme === 'http')
    if (changes.length === 0)
      return ok(`${subject}: leads to listen.port of this machine, and each client is counted separately`)
    return fail(`${subject}: all clients count as one. Add ${changes.join(', and ')}`)
  } catch (error) {
    const reason =
      error instanceof ListenError && error.code === 'EADDRINUSE'
        ? 'listen.port is in use. If the sidecar uses it, stop the sidecar and repeat this check, or look for the events proxy-not-trusted and proxy-says-no-client in its log.'
        : errorText(error)
    return { verdict: 'warn', text: `${subject}: not checked: ${reason}` }
  }
}

function arrivalOf({ headers, socket }: IncomingMessage): Arrival {
  const last = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .at(-1)
    ?.trim()
  return { peer: socket.remoteAddress, hasClientAddress: last !== '' && last !== CLIENT_ADDRESS }
}

/**
 * Returns the configuration lines that the operator should add.
 *
 * @param behindProxy whether a proxy must exist, because the public address uses TLS and this server does not
 */
function changesFor(
  { peer, hasClientAddress }: Arrival,
  { trustProxy }: ListenSettings,
  behindProxy: boolean,
): string[] {
  const trusted = isProxyBy(trustProxy)(peer)
  if (!trusted && !hasClientAddress && !behindProxy) return []
  return [...(trusted ? [] : [trustLine(peer)]), ...(hasClientAddress ? [] : [`for nginx ${NGINX_LINE}`])]
}

/**
 * Sends the test request, and never rejects. Returns an explanation in case the request does not arrive here: another
 * server answered, or the request failed.
 */
async function ask(address: URL): Promise<string> {
  try {
    const answer = await fetch(address, {
      method: 'POST',
      headers: { 'X-Forwarded-For': CLIENT_ADDRESS },
      redirect: 'manual',
      signal: AbortSignal.timeout(LIMIT_MS),
    })
    await answer.body?.cancel()
    return `another server answered ${answer.status}`
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    return cause instanceof Error ? cause.message : String(cause)
  }
}
