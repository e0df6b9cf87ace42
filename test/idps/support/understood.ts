import type { ClientRegistration } from './real-idp.ts'

const BY_ALL: readonly string[] = [
  ...(['client_id', 'client_secret', 'redirect_uris', 'post_logout_redirect_uris', 'response_types'] as const),
  ...(['token_endpoint_auth_method', 'jwks', 'groups', 'renewal'] as const),
] satisfies readonly (keyof ClientRegistration)[]

/**
 * @param understood members that the adapter can set, in addition to those of every adapter
 * @throws Error that names the members of a registration that an adapter cannot set, so that no case passes by mistake
 */
export function refuseOthers(client: ClientRegistration, understood: readonly (keyof ClientRegistration)[]): void {
  const names = [...BY_ALL, ...understood]
  const rejected = Object.entries(client).flatMap(([name, value]) =>
    names.includes(name) || value === undefined || value === false ? [] : [name],
  )
  if (rejected.length > 0) throw new Error(`a client here cannot have ${rejected.join(', ')}`)
}
