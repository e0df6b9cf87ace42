import { decodeJwt } from 'jose'
import type { Setup } from './sign-in-setup.ts'

/**
 * Makes the IdP put the session id into the tokens for the host, as for a client with a back-channel address. No server
 * listens at that address.
 *
 * @returns the `sid` of each token that it issues from now on, oldest first
 */
export async function hearSessionIds({ idp, register }: Setup): Promise<readonly string[]> {
  await register({ backchannel_logout_uri: 'http://127.0.0.1:1/', backchannel_logout_session_required: true })
  const sids: string[] = []
  idp.forgeTokens((token) => {
    sids.push(String(decodeJwt(token).sid))
    return token
  })
  return sids
}
