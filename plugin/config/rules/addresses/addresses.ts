import { isJsonObject, type JsonObject } from '../../json/json-object.ts'
import type { Finding } from '../../problem.ts'
import type { MemberSchema } from '../schema/member-schema.ts'
import { ISSUER } from '../schema/schema.ts'
import { checkAddress, ENDPOINT_RULES, ISSUER_RULES, PAGE_RULES } from './web-address.ts'

/** What is wrong with the addresses in an `oidc` object. */
export function checkAddresses(oidc: JsonObject): readonly Finding[] {
  const issuer = isJsonObject(oidc.issuer) ? oidc.issuer : { issuer: oidc.issuer }
  const client = isJsonObject(oidc.client) ? oidc.client : {}
  const aliases = isJsonObject(issuer.mtls_endpoint_aliases) ? issuer.mtls_endpoint_aliases : {}
  return [
    ...checkAddress(issuer.issuer, isJsonObject(oidc.issuer) ? ['issuer', 'issuer'] : ['issuer'], ISSUER_RULES),
    ...ENDPOINTS.flatMap((name) => checkAddress(issuer[name], ['issuer', name], ENDPOINT_RULES)),
    ...ALIASES.flatMap((name) =>
      checkAddress(aliases[name], ['issuer', 'mtls_endpoint_aliases', name], ENDPOINT_RULES),
    ),
    ...checkAddress(client.redirect_uri, ['client', 'redirect_uri'], ENDPOINT_RULES),
    ...checkAddress(client.post_logout_redirect_uri, ['client', 'post_logout_redirect_uri'], PAGE_RULES),
    ...checkAddress(oidc.logouturl, ['logouturl'], PAGE_RULES),
  ]
}

const ENDPOINTS = addressesIn(ISSUER.properties).filter((name) => name !== 'issuer')
const ALIASES = addressesIn(ISSUER.properties?.mtls_endpoint_aliases?.properties)

function addressesIn(members: MemberSchema['properties'] = {}): readonly string[] {
  return Object.keys(members).filter((name) => members[name]?.format === 'uri')
}
