import { request } from 'node:https'
import type { MeshSetup } from './mesh-setup.ts'

/** The body of a request. */
export interface Body {
  readonly type: string
  readonly pieces: readonly string[]
}

/** Returns a form as browsers send it with files: its fields, and one file with this text. */
export function multipart(fields: Readonly<Record<string, string>>, file = 'text'): Body {
  const boundary = 'boundary-of-the-form'
  const part = (disposition: string, text: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${text}\r\n`
  const parts = Object.entries(fields).map(([name, value]) => part(`name="${name}"`, value))
  const ending = [part('name="files"; filename="file.txt"', file), `--${boundary}--\r\n`]
  return { type: `multipart/form-data; boundary=${boundary}`, pieces: [...parts, ...ending] }
}

/** Returns a form without files. */
export function urlencoded(fields: Readonly<Record<string, string>>): Body {
  const text = String(new URLSearchParams(fields))
  return { type: 'application/x-www-form-urlencoded', pieces: [text.slice(0, 5), text.slice(5)] }
}

/**
 * Posts a body that arrives in later packets than the head, when the server has already begun the request. Node.js asks
 * for the body at the moment at which it passes the request on.
 *
 * @returns the status
 */
export function postSplit(
  { url }: Pick<MeshSetup, 'url'>,
  path: string,
  { type, pieces }: Body,
  cookie?: string,
): Promise<number> {
  const to = new URL(path, url)
  return new Promise((resolve, reject) => {
    const sent = request({
      ...{ host: '127.0.0.1', port: to.port, path: to.pathname + to.search, method: 'POST' },
      ...{ rejectUnauthorized: false, agent: false, timeout: 10_000 },
      headers: {
        ...{ host: to.host, expect: '100-continue', 'content-type': type, 'content-length': pieces.join('').length },
        ...(cookie === undefined ? {} : { cookie }),
      },
    })
    sent.on('response', (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sent.on('timeout', () => sent.destroy(new Error(`${path} does not answer`)))
    sent.on('error', reject)
    const write = ([piece, ...rest]: readonly string[]) => {
      if (piece === undefined) sent.end()
      else sent.write(piece, () => write(rest))
    }
    sent.on('continue', () => write(pieces))
    sent.flushHeaders()
  })
}
