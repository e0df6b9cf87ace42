import type { CustomSettings } from '../config/settings.ts'
import { LoginError } from '../errors.ts'
import type { Profile } from '../host/port.ts'
import { claimAt } from './claim-path.ts'

/** Claims about a user, from the ID token and UserInfo. */
export type Claims = Readonly<Record<string, unknown>>

const MOST_SUBJECT_CHARACTERS = 255

/** The user's profile, as read from the claims of a login. */
export interface Identity extends Profile {
  /**
   * False if the IdP did not send the configured name claim, so that the name is a fallback. A new account gets the
   * fallback. An existing account keeps its name.
   */
  readonly isNameClaimed: boolean
  /**
   * False if UserInfo failed and the ID token lacks the configured e-mail claim. An existing account then keeps its
   * address.
   */
  readonly isEmailKnown: boolean
  /**
   * False if UserInfo failed, so that the IdP did not state whether the address is verified. An existing account with
   * this address then keeps its value.
   */
  readonly isVerificationKnown: boolean
}

/**
 * Reads the identity. The id is `~oidc:` and the unchanged value of the configured claim. Claim names may be dotted
 * paths.
 *
 * @param isPartial whether a required UserInfo request got no answer, so that claims may be missing
 * @throws LoginError `subject_unusable` if the value has forbidden characters, is too long, or is an unverified e-mail
 *   address. It is never cleaned or cut, because the result could be another user's id
 */
export function profileOf(claims: Claims, names: CustomSettings['claims'], isPartial = false): Identity {
  const subject = claimAt(claims, names.uuid)
  if (!isUsableSubject(subject)) throw new LoginError('subject_unusable', { details: { claim: names.uuid } })
  if (isKnownByAddress(names) && isDenied(claims.email_verified)) {
    throw new LoginError('subject_unusable', {
      details: { claim: names.uuid, reason: 'email_verified is false' },
      remedy:
        'The e-mail address is the id of users here (`custom.claims.uuid`), and the IdP has not verified this one, so a stranger may have entered it. Have it verified there, or use the claim `sub`.',
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
    isEmailKnown: !isPartial || address !== undefined,
    isVerificationKnown: !isPartial || [address, claims.email, claims.email_verified].every(isPresent),
  }
}

/** Whether users are identified by their e-mail address. */
export function isKnownByAddress({ uuid, email }: CustomSettings['claims']): boolean {
  return uuid === 'email' || uuid === email
}

/**
 * Whether the IdP verified the e-mail address. Null if it does not say. Amazon Cognito, Apple and PayPal send strings.
 */
export function isEmailVerified({ email_verified: verified }: Claims): boolean | null {
  if (verified === undefined || verified === null) return null
  return verified === true || verified === 'true'
}

/**
 * Whether the stored e-mail address is verified. `email_verified` applies only to the unchanged `email` claim, not to
 * another claim or a cleaned address.
 */
function isVerified(email: string | undefined, claims: Claims): boolean | null {
  if (email !== undefined && email !== claims.email) return false
  const verified = isEmailVerified(claims)
  return verified === null ? null : email !== undefined && verified
}

function isPresent(claim: unknown): boolean {
  return claim !== undefined
}

function isDenied(verified: unknown): boolean {
  return verified === false || verified === 'false'
}

function isUsableSubject(value: unknown): value is string {
  // Refuse format characters and lone surrogates in a user id. They are invisible or change when stored, so two
  // different ids could look or become equal.
  return (
    typeof value === 'string' &&
    value.trim() !== '' &&
    value.length <= MOST_SUBJECT_CHARACTERS &&
    !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(value)
  )
}

/** Limit of the length of a name or an e-mail address, in UTF-16 code units. Hosts may not be able to store more. */
const MOST_UNITS = 255

/**
 * Removes line breaks, control and direction characters, and cuts long names. Keeps joiners (U+200C, U+200D) for
 * Persian and Indian names and emoji. Undefined if nothing visible is left.
 */
function personalName(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const clean = withoutControls(value, /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu)
  return /[^\s\u200c\u200d]/u.test(clean) ? cut(clean) : undefined
}

/**
 * Cleans an e-mail address like a name, but also replaces joiners, because two addresses that differ only in joiners
 * look alike.
 */
function personalAddress(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  return cut(withoutControls(value, /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu))
}

function withoutControls(text: string, controls: RegExp): string {
  return text.replace(controls, ' ').trim()
}

function cut(text: string): string | undefined {
  if (text.length <= MOST_UNITS) return text || undefined
  let end = 0
  // Split only the beginning into characters. The text may be very long, and the rest does not affect where to cut it.
  for (const { index, segment } of new Intl.Segmenter().segment(text.slice(0, 4 * MOST_UNITS))) {
    if (index + segment.length > MOST_UNITS) break
    end = index + segment.length
  }
  return text.slice(0, end).trim() || undefined
}
