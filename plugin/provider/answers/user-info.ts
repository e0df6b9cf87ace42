import type * as oidc from 'openid-client'
import type { DomainSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import { claimAt } from '../../login/claim-path.ts'
import { type Claims, isEmailVerified, isKnownByAddress } from '../../login/profile.ts'
import { translateUserInfoFault, userInfoOutage } from '../faults.ts'

/** What UserInfo added to the ID token. */
export interface UserInfo {
  readonly claims: Claims
  /**
   * Why there was no answer, for a warning: missing claims may exist then. Null: UserInfo answered, or was not needed.
   */
  readonly failure: LoginError | null
}

/** The answer of a login that needs nothing more than its ID token. */
export const NOT_NEEDED: UserInfo = { claims: {}, failure: null }

/**
 * Asks UserInfo. An endpoint that refuses or does not answer costs a login only the claims that it alone has: AD FS
 * refuses its own tokens of another audience, and Entra ID those of an API. An answer that is wrong (another subject, a
 * bad signature, too large) refuses the login.
 *
 * @param ask sends the request, and verifies the answer
 * @throws LoginError `userinfo_failed`, `provider_unreachable`; also for an outage if the ID token does not suffice
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

/** Refuses a login whose ID token lacks the id, or whose id is an address that UserInfo could have denied. */
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

const NO_ID = 'The ID token lacks the claim of `custom.claims.uuid`, and UserInfo gave no answer.'
const MAY_BE_DENIED =
  'UserInfo gave no answer, and could have denied the e-mail address that people are known by (`custom.claims.uuid`). Mend it, or have the IdP put `email_verified` into the ID token. If the IdP never says it: `issuer.userinfo_endpoint: false`.'
