import type { Response } from 'express'

/**
 * Sends a browser on. Without the page that Express writes for it in the language and type of the request: nobody reads
 * it, and it took a login 3 % of its time.
 */
export function sendOn(res: Response, url: string): void {
  res.statusCode = 302
  res.location(url)
  res.setHeader('Content-Length', '0')
  res.end()
}
