/**
 * Metadata of an IdP that an administrator may configure: endpoints, lists and flags. Source: RFC 8414, section 2;
 * OpenID Connect Discovery 1.0, section 3; RFC 8705, 9101, 9126, 9207 and 9449; JARM, section 4.
 */
export const ISSUER_ENDPOINTS = [
  'authorization_endpoint',
  'token_endpoint',
  'jwks_uri',
  'userinfo_endpoint',
  'revocation_endpoint',
  'introspection_endpoint',
  'registration_endpoint',
  'end_session_endpoint',
  'pushed_authorization_request_endpoint',
] as const

/** Endpoints that may have a separate address for clients with a certificate. Source: RFC 8705, section 5. */
export const ALIASED_ENDPOINTS = [
  'token_endpoint',
  'userinfo_endpoint',
  'revocation_endpoint',
  'introspection_endpoint',
  'pushed_authorization_request_endpoint',
] as const

/** Members of an IdP's metadata that are lists of names. The names contain no spaces. */
export const ISSUER_LISTS = [
  'token_endpoint_auth_methods_supported',
  'token_endpoint_auth_signing_alg_values_supported',
  'introspection_endpoint_auth_methods_supported',
  'introspection_endpoint_auth_signing_alg_values_supported',
  'revocation_endpoint_auth_methods_supported',
  'revocation_endpoint_auth_signing_alg_values_supported',
  'request_object_signing_alg_values_supported',
  'request_object_encryption_alg_values_supported',
  'request_object_encryption_enc_values_supported',
  'id_token_signing_alg_values_supported',
  'id_token_encryption_alg_values_supported',
  'id_token_encryption_enc_values_supported',
  'userinfo_signing_alg_values_supported',
  'userinfo_encryption_alg_values_supported',
  'userinfo_encryption_enc_values_supported',
  'authorization_signing_alg_values_supported',
  'authorization_encryption_alg_values_supported',
  'authorization_encryption_enc_values_supported',
  'dpop_signing_alg_values_supported',
  'code_challenge_methods_supported',
  'response_modes_supported',
  'grant_types_supported',
  'scopes_supported',
  'claims_supported',
  'acr_values_supported',
  'ui_locales_supported',
] as const

export const ISSUER_FLAGS = [
  'require_pushed_authorization_requests',
  'require_signed_request_object',
  'tls_client_certificate_bound_access_tokens',
  'claims_parameter_supported',
  'request_parameter_supported',
  'authorization_response_iss_parameter_supported',
] as const
