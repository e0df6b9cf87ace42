import type * as oidc from 'openid-client'
import type { DomainSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import { claimAt } from '../../login/claim-path.ts'
import { type Claims, isEmailVerified, isKnownByAddress } from '../../login/profile.ts'
import { translateUserInfoFault, userInfoOutage } from '../faults.ts'

/** The outcome of a UserInfo request. */
export interface UserInfo {
  readonly claims: Claims
  /**
   * The reason why UserInfo returned no claims, which is logged as a warning. Null if the request succeeded or was not
   * necessary.
   */
  readonly failure: LoginError | null
}

/** The result of a login without a UserInfo request, because the ID token already has all claims. */
export const NOT_NEEDED: UserInfo = { claims: {}, failure: null }

/**
 * Requests UserInfo. If the endpoint refuses or does not answer, the login continues if the ID token suffices. AD FS
 * refuses its own tokens for another audience, and Entra ID refuses tokens for an API. A wrong answer fails the login:
 * another subject, a bad signature, or too large.
 *
 * @param ask also verifies the answer
 * @throws LoginError `userinfo_failed`, `provider_unreachable`
 */
export async function askUserInfo(
  ask: () => Promise<oidc.UserInfoResponse>,
  idClaims: Claims,
  { custom }: Pick<DomainSettings, 'custom'>,
): Promise<UserInfo> {
  try {
    return { claims: await ask(), failure: null }
  } catch (error) {
    const failure = userInfoOutage(error)
    if (!failure) throw translateUserInfoFault(error)
    assertSuffices(idClaims, custom.claims, failure)
    return { claims: {}, failure }
  }
}

/**
 * Refuses the login if the ID token lacks the user's identifier, or if that is an e-mail address that may be
 * unverified.
 */
function assertSuffices(idClaims: Claims, names: DomainSettings['custom']['claims'], failure: LoginError): void {
  const { code, cause, details } = failure
  if (claimAt(idClaims, names.uuid) === undefined) {
    const remedy = `${NO_ID} ${failure.message}`
    throw new LoginError(code, { cause, details: { missingClaim: names.uuid, ...details }, remedy })
  }
  if (isKnownByAddress(names) && isEmailVerified(idClaims) === null) {
    throw new LoginError(code, {
      cause,
      details: { missingClaim: 'email_verified', ...details },
      remedy: MAY_BE_DENIED,
    })
  }
}

const NO_ID = 'The ID token lacks the claim of `custom.claims.uuid`, and UserInfo did not answer.'
const MAY_BE_DENIED =
  'UserInfo did not answer, so the e-mail address that identifies users (`custom.claims.uuid`) may be unverified. Repair UserInfo, or have the IdP put `email_verified` into the ID token. If the IdP never sends that claim, set `issuer.userinfo_endpoint` to false.'
