import { createHash } from 'node:crypto'
import type { Response } from 'express'
import { escapeMarkup, smallPage } from '../markup.ts'

const SCRIPT = 'document.forms[0].submit()'
const SCRIPT_HASH = createHash('sha256').update(SCRIPT).digest('base64')

/**
 * Sends a page that posts logout parameters that are too long for an address. Every IdP must accept POST (OpenID
 * Connect RP-Initiated Logout 1.0, section 2).
 *
 * @param fields contain a secret, so must not be cached
 */
export function sendLogoutForm(res: Response, url: URL, fields: Readonly<Record<string, string>>): void {
  const inputs = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${escapeMarkup(name)}" value="${escapeMarkup(value)}">`,
  )
  res
    .status(200)
    .set('Content-Security-Policy', policyFor(url))
    .type('html')
    .send(
      smallPage(
        'Signing out',
        `<form method="post" action="${escapeMarkup(url.href)}">
${inputs.join('\n')}
<p>You are signed out of this server. Continue to sign out of the sign-in service as well.</p>
<p><button>Continue</button></p>
</form>
<script>${SCRIPT}</script>`,
      ),
    )
}

/**
 * Returns the page's content security policy. Chromium (measured: 156) applies `form-action` also to later redirects.
 * These may lead through a second IdP, so allow any https address.
 */
function policyFor({ origin }: URL): string {
  return [
    "default-src 'none'",
    `script-src 'sha256-${SCRIPT_HASH}'`,
    `form-action ${origin} 'self' https:`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
