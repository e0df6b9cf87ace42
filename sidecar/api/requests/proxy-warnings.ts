import type { IncomingMessage } from 'node:http'
import type { Log } from '../../log.ts'

/**
 * Warns once each if a proxy is not trusted or sends no `X-Forwarded-For`, so that all clients behind it count as one.
 */
export type ProxyWarnings = (request: IncomingMessage) => void

/** The nginx line that forwards the client's address. */
export const NGINX_LINE = 'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;'

/** Returns the setting that makes `peer` a trusted proxy, as a line for the configuration file. */
export const trustLine = (peer: string | undefined) => `"listen": { "trustProxy": ["${peer}"] }`

export function createProxyWarnings(
  isProxy: (peer: string | undefined) => boolean,
  log: Pick<Log, 'warn'>,
): ProxyWarnings {
  let hasWarnedOfUntrusted = false
  let hasWarnedOfSilent = false
  return ({ headers, method, url, socket: { remoteAddress: peer } }) => {
    const isForwarded = headers['x-forwarded-for'] !== undefined
    if (isForwarded ? hasWarnedOfUntrusted : hasWarnedOfSilent || method !== 'POST' || !url?.startsWith('/v1/')) return
    if (isProxy(peer) === isForwarded) return
    if (isForwarded) {
      hasWarnedOfUntrusted = true
      log.warn(
        'proxy-not-trusted',
        `A peer that is not trusted sends X-Forwarded-For. If it is your proxy, all its clients count as one: set ${trustLine(peer)}.`,
        { peer },
      )
    } else {
      hasWarnedOfSilent = true
      log.warn(
        'proxy-says-no-client',
        `A trusted proxy sends no X-Forwarded-For, so all its clients count as one. For nginx, add: ${NGINX_LINE}`,
        { peer },
      )
    }
  }
}
