/**
 * Whether an endpoint rejects this server as a client. `unauthorized_client` means a wrong secret with 401 (Keycloak)
 * or 403 (Glewlwyd), else a missing permission.
 */
export function isClientRefused(status: number, error: string | undefined): boolean {
  return (
    error === 'invalid_client' ||
    (status === 401 && error === undefined) ||
    ((status === 401 || status === 403) && error === 'unauthorized_client')
  )
}
