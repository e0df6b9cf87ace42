import { randomBytes } from 'node:crypto'
import * as oidc from 'openid-client'
import type { ClientSettings } from '../../config/settings.ts'
import type { LoginError } from '../../errors.ts'
import { proofFor } from '../authentication/dpop.ts'
import { translateTokenFault } from '../faults.ts'
import type { RenewalDeps } from './renewal.ts'

/**
 * Sends an invented code to the token endpoint, to test the client's credentials. An IdP checks these before the code
 * (RFC 6749, section 3.2.1). Never rejects.
 *
 * @returns the error, if any. The IdP's `invalid_grant` means that it refused only the code
 */
export type OfferMadeUpCode = () => Promise<LoginError | null>

export function createCodeTrial(
  { redirect_uri }: Pick<ClientSettings, 'redirect_uri'>,
  { dpop, newConfiguration }: Pick<RenewalDeps, 'newConfiguration' | 'dpop'>,
): OfferMadeUpCode {
  return async () => {
    const code_verifier = randomBytes(32).toString('base64url')
    const parameters = { code: `made-up-${randomBytes(16).toString('hex')}`, redirect_uri, code_verifier }
    try {
      const config = await newConfiguration()
      await oidc.genericGrantRequest(config, 'authorization_code', parameters, await proofFor(dpop, config))
      return null
    } catch (error) {
      return translateTokenFault(error, 'token_request_failed')
    }
  }
}
