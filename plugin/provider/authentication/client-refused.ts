/**
 * Whether an endpoint rejects this server as a client. For a wrong secret, Keycloak answers `unauthorized_client` with
 * status 401, and Glewlwyd with 403. With others, it means a missing permission.
 */
export function isClientRefused(status: number, error: string | undefined): boolean {
  return (
    error === 'invalid_client' ||
    (status === 401 && error === undefined) ||
    ((status === 401 || status === 403) && error === 'unauthorized_client')
  )
}
