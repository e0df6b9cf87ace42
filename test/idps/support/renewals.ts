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
 * What comes of it when the session is next asked about. `line`: nobody is out, and the log has `session-check-failed`, since the
 * provider refuses in other words than `invalid_grant`. `none`: there is nothing to try, and why.
 */
export type Outcome = 'out' | 'in' | 'line' | { readonly none: string }

/** As measured, by the names of the providers. Their pages say the same. */
export const OUTCOMES: Readonly<Record<string, Readonly<Record<RenewalCase, Outcome>>>> = {
  Keycloak: {
    renewal_disabled: 'out',
    renewal_deleted: 'out',
    renewal_ended: 'out',
    renewal_idle: 'out',
    renewal_password: 'in',
    renewal_consent: 'out',
    renewal_rotating: 'in',
    renewal_kept: 'in',
  },
  'LemonLDAP::NG': {
    renewal_disabled: { none: 'it takes people from a database of its own, where they are or are not' },
    renewal_deleted: 'in',
    renewal_ended: 'out',
    renewal_idle: 'line',
    renewal_password: 'in',
    renewal_consent: 'in',
    renewal_rotating: 'in',
    renewal_kept: 'in',
  },
  Glewlwyd: {
    renewal_disabled: 'in',
    renewal_deleted: 'line',
    renewal_ended: 'line',
    renewal_idle: 'line',
    renewal_password: 'in',
    renewal_consent: 'in',
    renewal_rotating: 'in',
    renewal_kept: 'in',
  },
  Canaille: {
    renewal_disabled: 'line',
    renewal_deleted: 'line',
    renewal_ended: { none: 'its sessions are in cookies, which nobody can end but the browser' },
    renewal_idle: 'out',
    renewal_password: 'in',
    renewal_consent: 'out',
    renewal_rotating: 'in',
    renewal_kept: { none: 'each refresh token is good once' },
  },
  'Spring Authorization Server': {
    renewal_disabled: 'in',
    renewal_deleted: 'in',
    renewal_ended: 'in',
    renewal_idle: 'out',
    renewal_password: 'in',
    renewal_consent: 'in',
    renewal_rotating: 'in',
    renewal_kept: 'in',
  },
  'better-auth': {
    renewal_disabled: 'out',
    renewal_deleted: 'out',
    renewal_ended: 'out',
    renewal_idle: 'out',
    renewal_password: 'in',
    renewal_consent: 'in',
    renewal_rotating: 'in',
    renewal_kept: { none: 'each refresh token is good once' },
  },
  'oidc-provider': {
    renewal_disabled: { none: 'it asks whether an account is there, and nothing else' },
    renewal_deleted: 'out',
    renewal_ended: { none: 'it has no administration: a session ends in its own browser' },
    renewal_idle: 'out',
    renewal_password: 'in',
    renewal_consent: { none: 'the fixture asks nobody for consent' },
    renewal_rotating: 'in',
    renewal_kept: 'in',
  },
}
