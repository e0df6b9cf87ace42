/**
 * Whether an IdP's error is about PKCE (RFC 7636). Judges by the text, because the protocol has no error code for it.
 */
export function isAboutPkce({
  error,
  errorDescription,
}: {
  readonly error?: string
  readonly errorDescription?: string
}) {
  return /\bpkce\b|code[ _-]?(?:challenge|verifier)/i.test(`${error ?? ''} ${errorDescription ?? ''}`)
}

export const PKCE_REFUSED =
  'The IdP does not accept PKCE (RFC 7636) from this client. Allow it at the IdP with the method S256: in Keycloak, set the PKCE method of the client to S256 or leave it empty; in Glewlwyd, allow PKCE in the plugin. Every login uses PKCE.'
