import type { IssuerSettings } from '../../config/settings.ts'
import type { LoginError } from '../../errors.ts'
import { printableText } from '../../log.ts'
import { faultInWords, type Verdict } from './verdict.ts'

/** How a discovery went: with what the IdP calls itself, or with why it failed. */
export type DiscoveryOutcome =
  | { readonly kind: 'discovered'; readonly publishedIssuer: string }
  /** `byHand`: logins go on with the endpoints that were given. */
  | { readonly kind: 'failed'; readonly error: LoginError; readonly byHand: boolean }

/** @param hasPreset the issuer is the preset's: there is nothing to spell otherwise */
export function judgeDiscovery(
  { issuer }: Pick<IssuerSettings, 'issuer'>,
  outcome: DiscoveryOutcome,
  hasPreset: boolean,
): Verdict {
  const question = 'discovery'
  if (outcome.kind === 'failed') {
    const text = faultInWords(outcome.error)
    if (!outcome.byHand) return { question, verdict: 'fail', text }
    return { question, verdict: 'warn', text: `The endpoints in \`issuer\` are used. ${text}` }
  }
  const published = printableText(outcome.publishedIssuer)
  if (outcome.publishedIssuer === issuer || hasPreset) {
    const over = new URL(issuer).protocol === 'https:' ? 'TLS chain trusted' : 'plain HTTP on loopback'
    return { question, verdict: 'ok', text: `status 200, ${over}, issuer ${published}` }
  }
  const text = `The IdP calls itself ${published}, to the letter: write it so in \`issuer\`. The difference is understood, but not by all programs.`
  return { question, verdict: 'warn', text }
}
