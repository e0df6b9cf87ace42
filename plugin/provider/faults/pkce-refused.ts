/**
 * Whether an IdP's words are about Proof Key for Code Exchange (RFC 7636), which no error code of the protocol names.
 */
export function speaksOfPkce({
  error,
  errorDescription,
}: {
  readonly error?: string
  readonly errorDescription?: string
}) {
  return /\bpkce\b|code[ _-]?(?:challenge|verifier)/i.test(`${error ?? ''} ${errorDescription ?? ''}`)
}

export const PKCE_REFUSED =
  'The IdP does not take PKCE (RFC 7636) from this client. Allow it there with the method S256: in Keycloak the PKCE method of the client is empty or S256, in Glewlwyd the plugin has to allow it. It is never left out.'
