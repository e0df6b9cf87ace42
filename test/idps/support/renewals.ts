import { readDocuments, section, tableRows } from '../../support/documents.ts'

/** What happens at a provider while somebody is signed in here, in the words of the table on each provider's page. */
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
 * What comes of it when the session is next asked about. `line`: nobody is out, and the log has `session-check-failed`,
 * since the provider refuses in other words than `invalid_grant`. `none`: there is nothing to try, and why.
 */
export type Outcome = 'out' | 'in' | 'line' | { readonly none: string }

/** In the words of the pages on providers. */
const WORDS: Readonly<Record<string, Outcome>> = {
  out: 'out',
  'stays in': 'in',
  'stays in, and the log has `session-check-failed`': 'line',
}
const NOTHING = 'nothing to try: '

/** The fixture's provider has no page. */
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

/** As the provider's own page says it, which the matrix holds it to. */
export function outcomeOf(provider: string, name: RenewalCase): Outcome {
  if (provider === 'oidc-provider') return OIDC_PROVIDER[name]
  const page = readDocuments().find(({ text }) => text.startsWith(`# ${provider}\n`))
  const rows = tableRows(section(page?.text ?? '', '## When a session ends'))
  const [, told = ''] = rows.find(([what]) => what === RENEWALS[name]) ?? []
  const outcome = told.startsWith(NOTHING) ? { none: told.slice(NOTHING.length) } : WORDS[told]
  if (outcome === undefined)
    throw new Error(`the page on ${provider} does not say what it means that ${RENEWALS[name]}`)
  return outcome
}
