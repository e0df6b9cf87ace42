import { createHash } from 'node:crypto'
import type { Response } from 'express'
import { escapeMarkup, smallPage } from '../markup.ts'

const SCRIPT = 'document.forms[0].submit()'
const SCRIPT_HASH = createHash('sha256').update(SCRIPT).digest('base64')

/**
 * Sends the browser on with what is too long for an address: by a form that sends itself, or by its button where there
 * is no script. Source: OpenID Connect RP-Initiated Logout 1.0, section 2, which has every IdP take both methods.
 *
 * @param fields hold a secret; the answer must be kept nowhere
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
<p>You are signed out of this server. Go on to sign out of the sign-in service as well.</p>
<p><button>Go on</button></p>
</form>
<script>${SCRIPT}</script>`,
      ),
    )
}

/**
 * Chromium holds where the answer to a form redirects to `form-action` as well (measured with 156): back to this
 * server, and before that to whatever IdP stands behind this one.
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
