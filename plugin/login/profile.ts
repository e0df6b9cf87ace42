import type { CustomSettings } from '../config/settings.ts'
import { LoginError } from '../errors.ts'
import type { Profile } from '../host/port.ts'
import { claimAt } from './claim-path.ts'

/** Claims about a person, ID token and UserInfo together. */
export type Claims = Readonly<Record<string, unknown>>

const LONGEST_SUBJECT = 255

/** What a login says of a user, and how far the name counts. */
export interface Identity extends Profile {
  /**
   * False if the IdP did not send the configured name claim. The name is a fallback then: it names a new account, and
   * renames none.
   */
  readonly isNameClaimed: boolean
}

/**
 * Claims to identity. The id is `~oidc:` and the value of the configured claim, unchanged. Each of the names may be a
 * path with dots.
 *
 * @throws LoginError `subject_unusable`: an id that is cleaned or cut could be somebody else's, and so could an address
 *   that the IdP says to be unconfirmed
 */
export function profileOf(claims: Claims, names: CustomSettings['claims']): Identity {
  const subject = claimAt(claims, names.uuid)
  if (!isUsableSubject(subject)) throw new LoginError('subject_unusable', { details: { claim: names.uuid } })
  if (isKnownByAddress(names) && isDenied(claims.email_verified)) {
    throw new LoginError('subject_unusable', {
      details: { claim: names.uuid, reason: 'email_verified is false' },
      remedy:
        'People are known here by their e-mail address (`custom.claims.uuid`), and the IdP says that it has not verified this one: anybody may have entered it. Have it verified there, or use the claim `sub`.',
    })
  }
  const address = claimAt(claims, names.email)
  const email = personalAddress(address)
  const name = personalName(claimAt(claims, names.name))
  return {
    id: `~oidc:${subject}`,
    name: name ?? personalName(claims.preferred_username) ?? email ?? subject,
    isNameClaimed: name !== undefined,
    email: email ?? null,
    emailVerified: isVerified(email, claims),
  }
}

/** Whether the id of people is their e-mail address. */
export function isKnownByAddress({ uuid, email }: CustomSettings['claims']): boolean {
  return uuid === 'email' || uuid === email
}

/**
 * Returns what `email_verified` says: null if the IdP says nothing. Amazon Cognito, Apple and PayPal send the texts
 * "true" and "false". Any other value vouches for nothing.
 */
export function isEmailVerified({ email_verified: said }: Claims): boolean | null {
  if (said === undefined || said === null) return null
  return said === true || said === 'true'
}

/**
 * `email_verified` vouches for the claim `email` as it stands, not for another claim or for what cleaning left of the
 * address.
 */
function isVerified(email: string | undefined, claims: Claims): boolean | null {
  if (email !== undefined && email !== claims.email) return false
  const verified = isEmailVerified(claims)
  return verified === null ? null : email !== undefined && verified
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

/** UTF-16 units: what hosts have room for. */
const LONGEST = 255

/**
 * The name of a person: without line breaks, control and direction characters, cut between characters as people count
 * them. The joiners (U+200C, U+200D) stay: Persian and Indian names, and emoji, are other ones without them. Undefined:
 * nothing to see is left.
 */
function personalName(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const clean = withoutControls(value, /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu)
  return /[^\s\u200c\u200d]/u.test(clean) ? cut(clean) : undefined
}

/** An address: joiners are nothing to be seen in one, and would make two of it. */
function personalAddress(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  return cut(withoutControls(value, /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu))
}

function withoutControls(text: string, controls: RegExp): string {
  return text.replace(controls, ' ').trim()
}

function cut(text: string): string | undefined {
  if (text.length <= LONGEST) return text || undefined
  let end = 0
  // What is far behind the end changes nothing before it, and may be very much.
  for (const { index, segment } of new Intl.Segmenter().segment(text.slice(0, 4 * LONGEST))) {
    if (index + segment.length > LONGEST) break
    end = index + segment.length
  }
  return text.slice(0, end).trim() || undefined
}
