import { createHash } from 'node:crypto'
import type { Response } from 'express'
import { escapeMarkup, smallPage } from '../markup.ts'

/**
 * Takes the answer out of the address before anything else, so that neither the history nor a copied address keeps it,
 * and posts its fields as they are. All of them at once, and by the prototype's `submit`: from then on a field's name
 * may hide any member of the form. Without an answer nothing is posted, so that nothing runs in a circle.
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
 * The page for an answer in the fragment, which browsers show to no server: it posts the answer to the same address.
 * Source: OAuth 2.0 Multiple Response Type Encoding Practices, section 5.
 *
 * @param login path of the login page
 */
export function sendFragmentPage(res: Response, login: string): void {
  res
    .status(200)
    .set('Content-Security-Policy', POLICY)
    .set('X-Frame-Options', 'DENY')
    .type('html')
    .send(
      smallPage(
        'Signing in',
        `<form method="post"></form>` +
          `<p hidden>The sign-in service sent no answer. Please <a href="${escapeMarkup(login)}">sign in again</a>.</p>` +
          `<noscript>This sign-in needs JavaScript: allow it for this page, and sign in again.</noscript>` +
          `<script>${SCRIPT}</script>`,
      ),
    )
}
