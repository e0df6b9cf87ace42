import type { CustomSettings } from '../config/settings.ts'
import { LoginError } from '../errors.ts'
import type { Profile } from '../host/port.ts'
import { printableText } from '../log.ts'

/** Claims about a person, ID token and UserInfo together. */
export type Claims = Readonly<Record<string, unknown>>

const LONGEST = 255

/**
 * Claims to identity. The id is `~oidc:` and the value of the configured claim, unchanged.
 *
 * @throws LoginError `subject_unusable`: an id that is cleaned or cut could be somebody else's
 */
export function profileOf(claims: Claims, names: CustomSettings['claims']): Profile {
  const subject = claims[names.uuid]
  if (!isUsableSubject(subject)) throw new LoginError('subject_unusable', { details: { claim: names.uuid } })
  const email = shortText(claims[names.email])
  return {
    id: `~oidc:${subject}`,
    name: shortText(claims[names.name]) ?? shortText(claims.preferred_username) ?? email ?? subject,
    email: email ?? null,
    // It vouches for the claim `email` as it stands, not for what another claim says or what is left of it after cleaning. Some IdPs
    // send the text "true": that vouches for nothing.
    emailVerified: email !== undefined && email === claims.email && claims.email_verified === true,
  }
}

function isUsableSubject(value: unknown): value is string {
  // Format characters and lone surrogates are invisible or change on storage: two ids would look, or become, the same.
  return (
    typeof value === 'string' &&
    value.trim() !== '' &&
    value.length <= LONGEST &&
    !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(value)
  )
}

function shortText(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const text = printableText(value).trim().slice(0, LONGEST)
  return text === '' ? undefined : text
}
