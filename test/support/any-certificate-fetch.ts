import { request } from 'node:https'

/** Ports on 127.0.0.1 by host name. Requests to these names go to this machine, without DNS. */
export type LocalNames = Readonly<Record<string, number>>

/**
 * Returns a `fetch` that accepts any certificate, and sends requests to `names` to this machine. Its answers have only
 * the headers that the tested clients read.
 */
export const fetchAt =
  (names: LocalNames): typeof globalThis.fetch =>
  (input, init = {}) =>
    new Promise((resolve, reject) => {
      const { method, headers, body, url: address } = new Request(input, init)
      const url = new URL(address)
      const port = names[url.hostname]
      const place = port === undefined ? {} : { hostname: '127.0.0.1', port, servername: url.hostname }
      const sent = request(
        url,
        {
          method,
          headers: { ...Object.fromEntries(headers), host: url.host },
          rejectUnauthorized: false,
          agent: false,
          timeout: 5_000,
          ...place,
        },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', reject)
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString()
            const headerNames = ['content-type', 'location', 'date'] as const
            const headers = headerNames.flatMap((name): [string, string][] => {
              const value = response.headers[name]
              return value === undefined ? [] : [[name, value]]
            })
            resolve(new Response(text === '' ? null : text, { status: response.statusCode ?? 0, headers }))
          })
        },
      )
      sent.on('error', reject)
      sent.on('timeout', () => sent.destroy(new Error('no answer in time')))
      if (body === null) sent.end()
      else new Response(body).text().then((text) => sent.end(text), reject)
    })

/** A `fetch` that accepts any certificate, for requests to an identity provider. */
export const anyCertificateFetch = fetchAt({})
