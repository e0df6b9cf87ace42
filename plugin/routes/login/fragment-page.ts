import { createHash } from 'node:crypto'
import type { Response } from 'express'
import { escapeMarkup, smallPage } from '../markup.ts'

/**
 * The page's script, which posts the answer from the URL fragment. It removes the fragment first, so that neither
 * history nor a copied address contains it. Fields can hide a form's members such as `submit`. It posts no empty
 * fragment, because the server would send this page again.
 */
const SCRIPT = `
const answer = new URLSearchParams(location.hash.slice(1))
history.replaceState(null, '', location.pathname + location.search)
const fields = Array.from(answer, ([name, value]) =>
  Object.assign(document.createElement('input'), { type: 'hidden', name, value }))
const form = document.querySelector('form')
form.append(...fields)
if (fields.length > 0) HTMLFormElement.prototype.submit.call(form)
else document.querySelector('p').hidden = false
`

const POLICY = [
  "default-src 'none'",
  `script-src 'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

/**
 * Sends a page that posts the answer from the URL fragment, which servers do not receive. Source: OAuth 2.0 Multiple
 * Response Type Encoding Practices, section 5.
 */
export function sendFragmentPage(res: Response, loginPath: string): void {
  res
    .status(200)
    .set('Content-Security-Policy', POLICY)
    .set('X-Frame-Options', 'DENY')
    .type('html')
    .send(
      smallPage(
        'Signing in',
        `<form method="post"></form>` +
          `<p hidden>The sign-in service sent no answer. Please <a href="${escapeMarkup(loginPath)}">sign in again</a>.</p>` +
          `<noscript>This sign-in needs JavaScript. Allow it for this page, and sign in again.</noscript>` +
          `<script>${SCRIPT}</script>`,
      ),
    )
}
