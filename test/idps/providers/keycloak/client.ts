import type { ClientRegistration } from '../../support/real-idp.ts'

type Json = Readonly<Record<string, unknown>>

/** Keycloak's names for client authentication methods. */
const AUTHENTICATORS = {
  none: undefined,
  client_secret_basic: 'client-secret',
  client_secret_post: 'client-secret',
  client_secret_jwt: 'client-secret-jwt',
  private_key_jwt: 'client-jwt',
  tls_client_auth: 'client-x509',
  self_signed_tls_client_auth: undefined,
} as const

/** Attributes with a string value that equals a member of the registration. */
const ATTRIBUTES = {
  token_endpoint_auth_signing_alg: 'token.endpoint.auth.signing.alg',
  id_token_signed_response_alg: 'id.token.signed.response.alg',
  id_token_encrypted_response_alg: 'id.token.encrypted.response.alg',
  id_token_encrypted_response_enc: 'id.token.encrypted.response.enc',
  userinfo_signed_response_alg: 'user.info.response.signature.alg',
  userinfo_encrypted_response_alg: 'user.info.encrypted.response.alg',
  userinfo_encrypted_response_enc: 'user.info.encrypted.response.enc',
  authorization_signed_response_alg: 'authorization.signed.response.alg',
  request_object_signing_alg: 'request.object.signature.alg',
  require_pushed_authorization_requests: 'require.pushed.authorization.requests',
  dpop_bound_access_tokens: 'dpop.bound.access.tokens',
  tls_client_certificate_bound_access_tokens: 'tls.client.certificate.bound.access.tokens',
  backchannel_logout_uri: 'backchannel.logout.url',
  backchannel_logout_session_required: 'backchannel.logout.session.required',
  jwks_uri: 'jwks.url',
  tls_client_auth_subject_dn: 'x509.subjectdn',
} as const satisfies Partial<Record<keyof ClientRegistration, string>>

/** Converts a registration to a client of the admin API. */
export function toClient(registration: ClientRegistration): Json {
  const method = registration.token_endpoint_auth_method ?? 'client_secret_basic'
  const responses = (registration.response_types ?? ['code']).join(' ').split(' ')
  const authenticator = AUTHENTICATORS[method]
  if (authenticator === undefined && method !== 'none') throw new Error(`Keycloak knows no ${method}`)
  return {
    clientId: registration.client_id,
    ...(registration.client_secret === undefined ? {} : { secret: registration.client_secret }),
    publicClient: method === 'none',
    ...(authenticator === undefined ? {} : { clientAuthenticatorType: authenticator }),
    redirectUris: registration.redirect_uris,
    standardFlowEnabled: responses.includes('code'),
    implicitFlowEnabled: responses.includes('id_token'),
    directAccessGrantsEnabled: false,
    // On by default in Keycloak, which then never sends back-channel logout tokens.
    frontchannelLogout: false,
    attributes: attributesOf(registration),
    consentRequired: registration.renewal?.asksConsent ?? false,
    protocolMappers: [
      audienceMapper(registration.client_id),
      ...(registration.groups === 'unasked' ? [groupMapper(registration.claimsIn)] : []),
    ],
  }
}

function attributesOf(registration: ClientRegistration): Json {
  const plain = Object.entries(ATTRIBUTES).flatMap(([word, attribute]) => {
    const value = registration[word as keyof typeof ATTRIBUTES]
    return value === undefined ? [] : [[attribute, String(value)] as const]
  })
  return {
    ...Object.fromEntries(plain),
    'post.logout.redirect.uris': (registration.post_logout_redirect_uris ?? []).join('##'),
    ...(registration.renewal?.lifeS === undefined
      ? {}
      : { 'client.session.idle.timeout': String(registration.renewal.lifeS) }),
    ...(registration.jwks_uri === undefined ? {} : { 'use.jwks.url': 'true' }),
    ...(registration.jwks === undefined
      ? {}
      : { 'use.jwks.url': 'false', 'use.jwks.string': 'true', 'jwks.string': JSON.stringify(registration.jwks) }),
    // "request only" refuses pushed requests, because they arrive as `request_uri`.
    ...(registration.require_signed_request_object ? { 'request.object.required': 'request or request_uri' } : {}),
  }
}

/** The mapper "Group Membership" of the admin console, which sends full paths by default. */
export function groupMapper(place?: 'id_token' | 'userinfo'): Json {
  return {
    name: 'groups',
    protocol: 'openid-connect',
    protocolMapper: 'oidc-group-membership-mapper',
    config: {
      'claim.name': 'groups',
      'full.path': 'true',
      'id.token.claim': String(place !== 'userinfo'),
      'userinfo.token.claim': String(place !== 'id_token'),
      'access.token.claim': 'false',
      'introspection.token.claim': 'false',
    },
  }
}

/**
 * The mapper "Audience" of the admin console. Since 26.6.2, introspection calls a token inactive if its audience is not
 * the client that asks.
 */
function audienceMapper(clientId: string): Json {
  return {
    name: 'audience',
    protocol: 'openid-connect',
    protocolMapper: 'oidc-audience-mapper',
    config: { 'included.client.audience': clientId, 'id.token.claim': 'false', 'access.token.claim': 'true' },
  }
}
