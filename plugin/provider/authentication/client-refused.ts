/**
 * Whether an endpoint rejects this server as its client. For a wrong secret, Keycloak answers `unauthorized_client`
 * with 401, and Glewlwyd with 403. Other IdPs use that code for a client that lacks a permission.
 */
export function isClientRefused(status: number, error: string | undefined): boolean {
  return (
    error === 'invalid_client' ||
    (status === 401 && error === undefined) ||
    ((status === 401 || status === 403) && error === 'unauthorized_client')
  )
}
