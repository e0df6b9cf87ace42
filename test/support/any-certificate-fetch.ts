import { request } from 'node:https'

/**
 * `fetch` between a provider and its clients that accepts any certificate. Of the answer's headers it keeps type and
 * redirect.
 */
export const anyCertificateFetch: typeof globalThis.fetch = (input, init = {}) =>
  new Promise((resolve, reject) => {
    const { method, headers, body } = new Request(input, init)
    const sent = request(
      String(input instanceof Request ? input.url : input),
      { method, headers: Object.fromEntries(headers), rejectUnauthorized: false, agent: false, timeout: 5_000 },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          const headerNames = ['content-type', 'location'] as const
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
