import type { DomainSettings } from '../../config/settings.ts'
import { printableText } from '../../log.ts'
import { type Unpublished, unpublished } from '../../provider/issuer/published-lists.ts'
import type { Question, Verdict } from './verdict.ts'

/**
 * Lists that an IdP has to publish whole (OpenID Connect Discovery 1.0, section 3). All others may be incomplete: what
 * they lack may work all the same, and the questions that are asked at the endpoints tell.
 */
const WHOLE: readonly string[] = ['id_token_signing_alg_values_supported', 'response_types_supported']

const QUESTIONS = [
  ['algorithms', /_(?:alg|enc)_values_supported$/],
  ['client authentication', /_auth_methods_supported$/],
  ['scopes', /^scopes_supported$/],
  ['response types', /^response_(?:types|modes)_supported$/],
  ['PKCE', /^code_challenge_methods_supported$/],
] as const satisfies readonly (readonly [Question, RegExp])[]

/**
 * What is configured, against what the IdP says that it has: a verdict a question, or one for each thing that it lacks.
 */
export function judgePublished(
  metadata: Parameters<typeof unpublished>[0],
  settings: DomainSettings,
): readonly Verdict[] {
  const lacking = unpublished(metadata, settings)
  return QUESTIONS.flatMap(([question, lists]): readonly Verdict[] => {
    const found = lacking.filter(({ list }) => lists.test(list))
    if (found.length > 0) return found.map((one) => objection(question, one))
    const isSaid = Object.entries(metadata).some(([name, value]) => lists.test(name) && Array.isArray(value))
    const text = isSaid ? 'published as configured' : 'the IdP publishes nothing about it'
    return [{ question, verdict: 'ok', text }]
  })
}

function objection(question: Question, { member, configured, list, published }: Unpublished): Verdict {
  const has = published.length > 0 ? published.map(printableText).join(' ') : 'nothing'
  const text = `The IdP's ${list} lacks ${configured} (${member}); it has ${has}. Choose what it has, or allow it there.`
  return { question, verdict: WHOLE.includes(list) ? 'fail' : 'warn', text }
}
