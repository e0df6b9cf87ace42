import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ListenError, listenHttp } from '../../api/http-listener.ts'
import { createApiServer } from '../../api/http-server.ts'
import { isProxyBy } from '../../api/requests/client-address.ts'
import { NGINX_LINE, trustLine } from '../../api/requests/proxy-warnings.ts'
import type { ListenSettings } from '../../config/settings.ts'
import { errorInWords } from './error-in-words.ts'
import { fail, ok, type Verdict } from './verdict.ts'

/** What a client says of itself: an address that nobody has (RFC 5737). */
const MADE_UP = '192.0.2.77'
const LIMIT_MS = 10_000

/** How our question came back to us. */
interface Arrival {
  readonly peer: string | undefined
  /** Whoever passed it on says whom it came from, behind what we made up. */
  readonly saysClient: boolean
}

/**
 * Asks itself by the address that phones call, in the place of a sidecar that does not run now: does the proxy on the
 * way say who asks, and is it believed? Never rejects.
 */
export async function checkPublic(listen: ListenSettings, address: string): Promise<Verdict> {
  const what = `Public address ${address}`
  const path = `/v1/${randomBytes(16).toString('hex')}`
  let arrival: Arrival | undefined
  try {
    const { server, scheme } = await createApiServer(listen)
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      // Phones that ask meanwhile come back later, as while no sidecar runs.
      if (request.url === path) arrival = arrivalOf(request)
      response.writeHead(503, { Connection: 'close', 'Content-Length': 0 }).end()
    })
    const listener = await listenHttp(server, scheme, listen.host, listen.port)
    const failure = await ask(new URL(path, address)).finally(listener.close)
    if (!arrival) return fail(`${what}: ${failure}. Check its name, the proxy, and listen.port.`)
    const wrong = faultsOf(arrival, listen, address.startsWith('https:') && scheme === 'http')
    if (wrong.length === 0) return ok(`${what}: leads here, and each client is counted for itself`)
    return fail(`${what}: all clients count as one. Write ${wrong.join(', and ')}`)
  } catch (error) {
    const reason =
      error instanceof ListenError && error.code === 'EADDRINUSE'
        ? 'listen.port is in use. Stop the sidecar first, or look for proxy-not-trusted and proxy-says-no-client in its log.'
        : errorInWords(error)
    return { verdict: 'warn', text: `${what}: not asked: ${reason}` }
  }
}

function arrivalOf({ headers, socket }: IncomingMessage): Arrival {
  const last = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .at(-1)
    ?.trim()
  return { peer: socket.remoteAddress, saysClient: last !== '' && last !== MADE_UP }
}

/** @param behindProxy somebody else adds TLS, so that there is a proxy whatever it says */
function faultsOf({ peer, saysClient }: Arrival, { trustProxy }: ListenSettings, behindProxy: boolean): string[] {
  const trusted = isProxyBy(trustProxy)(peer)
  if (!trusted && !saysClient && !behindProxy) return []
  return [...(trusted ? [] : [trustLine(peer)]), ...(saysClient ? [] : [`for nginx ${NGINX_LINE}`])]
}

/** What came of it, where the question did not come here. */
async function ask(address: URL): Promise<string> {
  try {
    const answer = await fetch(address, {
      method: 'POST',
      headers: { 'X-Forwarded-For': MADE_UP },
      redirect: 'manual',
      signal: AbortSignal.timeout(LIMIT_MS),
    })
    await answer.body?.cancel()
    return `somebody else answered ${answer.status}`
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    return cause instanceof Error ? cause.message : String(cause)
  }
}
