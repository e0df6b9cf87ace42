import type { Idp } from '../../fixtures/idp/server.ts'
import type { Caller } from '../../fixtures/idp/vendors/vendor-api.ts'

/**
 * Returns the user and the scopes of an access token by introspection at the provider. A vendor's API does the same
 * with tokens of the vendor's provider.
 */
export async function callerAt(
  idp: Idp,
  client: { readonly client_id: string; readonly client_secret: string },
  accessToken: string,
): Promise<Caller | undefined> {
  const credentials = Buffer.from(`${client.client_id}:${client.client_secret}`).toString('base64')
  const answer = await fetch(`${idp.issuer}/token/introspection`, {
    method: 'POST',
    headers: { authorization: `Basic ${credentials}` },
    body: new URLSearchParams({ token: accessToken }),
  })
  const { active, sub = '', scope = '' } = (await answer.json()) as { active: boolean; sub?: string; scope?: string }
  return active ? { user: sub, scopes: scope.split(' ') } : undefined
}
