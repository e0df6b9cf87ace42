import type { CustomSettings } from '../config/settings.ts'
import { LoginError } from '../errors.ts'
import type { Profile } from '../host/port.ts'
import { claimAt } from './claim-path.ts'
import { personalAddress, personalName } from './personal-text.ts'

/** Claims about a person, ID token and UserInfo together. */
export type Claims = Readonly<Record<string, unknown>>

const LONGEST_SUBJECT = 255

/**
 * Claims to identity. The id is `~oidc:` and the value of the configured claim, unchanged. Each of the names may be a path with dots.
 *
 * @throws LoginError `subject_unusable`: an id that is cleaned or cut could be somebody else's, and so could an address that the IdP says
 *   to be unconfirmed
 */
export function profileOf(claims: Claims, names: CustomSettings['claims']): Profile {
  const subject = claimAt(claims, names.uuid)
  if (!isUsableSubject(subject)) throw new LoginError('subject_unusable', { details: { claim: names.uuid } })
  if ((names.uuid === 'email' || names.uuid === names.email) && isDenied(claims.email_verified)) {
    throw new LoginError('subject_unusable', {
      details: { claim: names.uuid, reason: 'email_verified is false' },
      remedy:
        'People are known here by their e-mail address (`custom.claims.uuid`), and the IdP says that it has not verified this one: anybody may have entered it. Have it verified there, or use the claim `sub`.',
    })
  }
  const address = claimAt(claims, names.email)
  const email = personalAddress(address)
  return {
    id: `~oidc:${subject}`,
    name: personalName(claimAt(claims, names.name)) ?? personalName(claims.preferred_username) ?? email ?? subject,
    email: email ?? null,
    emailVerified: isVerified(email, claims),
  }
}

/**
 * It vouches for the claim `email` as it stands, not for what another claim says or what is left of it after cleaning. Some IdPs send the
 * text "true": that vouches for nothing.
 */
function isVerified(email: string | undefined, claims: Claims): boolean | null {
  const said = claims.email_verified ?? null
  if (email !== undefined && email !== claims.email) return false
  return said === null ? null : email !== undefined && said === true
}

function isDenied(verified: unknown): boolean {
  return verified === false || verified === 'false'
}

function isUsableSubject(value: unknown): value is string {
  // Format characters and lone surrogates are invisible or change on storage: two ids would look, or become, the same.
  return (
    typeof value === 'string' &&
    value.trim() !== '' &&
    value.length <= LONGEST_SUBJECT &&
    !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(value)
  )
}
