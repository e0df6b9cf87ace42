import { readDocuments, section, tableRows } from '../../support/documents.ts'

/** Events at a provider while a user is signed in at the host, in the words of the table on each provider's page. */
export const RENEWALS = {
  renewal_disabled: 'a user is disabled',
  renewal_deleted: 'a user is deleted',
  renewal_ended: 'an administrator ends the sessions of a user',
  renewal_idle: 'a session is not used for longer than its refresh token lasts',
  renewal_password: 'a password is changed',
  renewal_consent: 'a consent is taken back',
  renewal_rotating: 'each refresh token is good once',
  renewal_kept: 'the refresh token stays the same',
} as const

export type RenewalCase = keyof typeof RENEWALS

/**
 * The outcome at the next check of the session. `line`: the session goes on and the log has `session-check-failed`,
 * because the provider refuses otherwise than by `invalid_grant`. `none`: nothing can be tried, with the reason.
 */
export type Outcome = 'out' | 'in' | 'line' | { readonly none: string }

/** Outcomes in the words of the provider pages. */
const WORDS: Readonly<Record<string, Outcome>> = {
  out: 'out',
  'stays in': 'in',
  'stays in, and the log has `session-check-failed`': 'line',
}
const NOTHING = 'nothing to try: '

/** The outcomes of the provider of the fixtures, which has no page in the documentation. */
const OIDC_PROVIDER: Readonly<Record<RenewalCase, Outcome>> = {
  renewal_disabled: { none: 'it asks whether an account is there, and nothing else' },
  renewal_deleted: 'out',
  renewal_ended: { none: 'it has no administration: a session ends in its own browser' },
  renewal_idle: 'out',
  renewal_password: 'in',
  renewal_consent: { none: 'the fixture asks nobody for consent' },
  renewal_rotating: 'in',
  renewal_kept: 'in',
}

/** Returns the outcome that the provider's page promises, and that the matrix checks. */
export function outcomeOf(provider: string, name: RenewalCase): Outcome {
  if (provider === 'oidc-provider') return OIDC_PROVIDER[name]
  const page = readDocuments().find(({ text }) => text.startsWith(`# ${provider}\n`))
  const rows = tableRows(section(page?.text ?? '', '## When a session ends'))
  const [, promise = ''] = rows.find(([event]) => event === RENEWALS[name]) ?? []
  const outcome = promise.startsWith(NOTHING) ? { none: promise.slice(NOTHING.length) } : WORDS[promise]
  if (outcome === undefined) throw new Error(`the page on ${provider} does not give the outcome of: ${RENEWALS[name]}`)
  return outcome
}
