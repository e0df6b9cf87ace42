/**
 * Whether an endpoint does not accept this server as its client. Keycloak says `unauthorized_client` to a wrong secret,
 * with 401, and Glewlwyd with 403; to others that word is about what the client may do.
 */
export function isClientRefused(status: number, error: string | undefined): boolean {
  return (
    error === 'invalid_client' ||
    (status === 401 && error === undefined) ||
    ((status === 401 || status === 403) && error === 'unauthorized_client')
  )
}
