import type { ServerMetadata } from 'openid-client'
import type { ClientSettings, ResponseMode } from '../../config/settings.ts'

type Asking = Pick<ClientSettings, 'response_types' | 'response_mode'>

/**
 * The response mode that is asked for. An ID token in an address ends up in logs and histories, so it is to come as a
 * form; where the IdP publishes that it cannot do that, in the fragment, which browsers keep to themselves. Undefined:
 * the IdP's own for codes.
 */
export function responseModeOf({ response_types: [type], response_mode: mode }: Asking, idp: ServerMetadata) {
  if (mode !== undefined || type === 'code') return mode
  // A list that is missing says nothing.
  const published: unknown = idp.response_modes_supported
  return Array.isArray(published) && !published.includes('form_post') ? 'fragment' : 'form_post'
}

/** Whether answers may come as a form that the IdP's page posts: a POST from another site. */
export function mayComeByPost({ response_types: [type], response_mode: mode }: Asking): boolean {
  return mode === undefined ? type !== 'code' : mode === 'form_post' || mode === 'form_post.jwt'
}

/** Whether answers may come in the fragment: because they are asked for there, or in spite of what was asked for. */
export function mayComeInFragment({ response_types: [type], response_mode: mode }: Asking): boolean {
  return type !== 'code' || mode === 'fragment' || mode === 'fragment.jwt'
}

/**
 * Whether answers have to be signed as a whole. Source: JWT Secured Authorization Response Mode for OAuth 2.0 (JARM).
 */
export function isSignedMode(mode: ResponseMode | undefined): boolean {
  return mode?.endsWith('jwt') ?? false
}
