import type { DomainSettings } from '../../config/settings.ts'
import { printableText } from '../../log.ts'
import { type Unpublished, unpublished } from '../../provider/issuer/published-lists.ts'
import type { Question, Verdict } from './verdict.ts'

/**
 * Lists in an IdP's metadata that must contain every supported value (OpenID Connect Discovery 1.0, section 3). Other
 * lists may omit values that the IdP supports.
 */
const COMPLETE: readonly string[] = ['id_token_signing_alg_values_supported', 'response_types_supported']

const QUESTIONS = [
  ['algorithms', /_(?:alg|enc)_values_supported$/],
  ['client authentication', /_auth_methods_supported$/],
  ['scopes', /^scopes_supported$/],
  ['response types', /^response_(?:types|modes)_supported$/],
  ['PKCE', /^code_challenge_methods_supported$/],
] as const satisfies readonly (readonly [Question, RegExp])[]

/**
 * Returns a verdict for each configured value that the IdP's lists lack, and `ok` for each {@link Question} without
 * one.
 */
export function judgePublished(
  metadata: Parameters<typeof unpublished>[0],
  settings: DomainSettings,
): readonly Verdict[] {
  const lacking = unpublished(metadata, settings)
  return QUESTIONS.flatMap(([question, lists]): readonly Verdict[] => {
    const missing = lacking.filter(({ list }) => lists.test(list))
    if (missing.length > 0) return missing.map((value) => objection(question, value))
    const isPublished = Object.entries(metadata).some(([name, value]) => lists.test(name) && Array.isArray(value))
    const text = isPublished ? 'published as configured' : 'the IdP publishes nothing about it'
    return [{ question, verdict: 'ok', text }]
  })
}

function objection(question: Question, { member, configured, list, published }: Unpublished): Verdict {
  const listed = published.length > 0 ? published.map(printableText).join(' ') : 'nothing'
  const text = `The IdP's ${list} lacks ${configured} (${member}); it has ${listed}. Configure a value of that list, or allow ${configured} at the IdP.`
  return { question, verdict: COMPLETE.includes(list) ? 'fail' : 'warn', text }
}
