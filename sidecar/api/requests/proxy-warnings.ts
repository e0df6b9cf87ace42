import type { IncomingMessage } from 'node:http'
import type { Log } from '../../log.ts'

/**
 * Tells an operator whose clients are counted as one, or by addresses that they make up: once of each kind, with the
 * line to write.
 */
export type ProxyWarnings = (request: IncomingMessage) => void

/** What makes nginx say who asks. */
export const NGINX_LINE = 'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;'

/** What has `peer` believed. */
export const trustLine = (peer: string | undefined) => `"listen": { "trustProxy": ["${peer}"] }`

export function createProxyWarnings(
  isProxy: (peer: string | undefined) => boolean,
  log: Pick<Log, 'warn'>,
): ProxyWarnings {
  let untrusted = false
  let silent = false
  return ({ headers, method, url, socket: { remoteAddress: peer } }) => {
    const said = headers['x-forwarded-for'] !== undefined
    if (said ? untrusted : silent || method !== 'POST' || !url?.startsWith('/v1/')) return
    if (isProxy(peer) === said) return
    if (said) {
      untrusted = true
      log.warn(
        'proxy-not-trusted',
        `A peer sends X-Forwarded-For and is not trusted: where it is your proxy, all its clients count as one. Write ${trustLine(peer)}.`,
        { peer },
      )
    } else {
      silent = true
      log.warn(
        'proxy-says-no-client',
        `A trusted proxy sends no X-Forwarded-For: all its clients count as one. For nginx write: ${NGINX_LINE}`,
        { peer },
      )
    }
  }
}
