import type { ServerMetadata } from 'openid-client'
import type { ClientSettings, ResponseMode } from '../../config/settings.ts'

type ModeSettings = Pick<ClientSettings, 'response_types' | 'response_mode'>

/**
 * Chooses the response mode. Returns undefined for codes, which use the IdP's default mode. An ID token in an address
 * would end up in logs and histories, so it is sent as a form. If the IdP publishes that it does not support forms, the
 * token is sent in the fragment, which browsers do not send to servers.
 */
export function responseModeOf({ response_types: [type], response_mode: mode }: ModeSettings, idp: ServerMetadata) {
  if (mode !== undefined || type === 'code') return mode
  // An IdP that publishes no list of response modes may support forms nevertheless.
  const published: unknown = idp.response_modes_supported
  return Array.isArray(published) && !published.includes('form_post') ? 'fragment' : 'form_post'
}

/** Whether the IdP may send its answers as a form. The browser then posts the form from a page of another site. */
export function mayComeByPost({ response_types: [type], response_mode: mode }: ModeSettings): boolean {
  return mode === undefined ? type !== 'code' : mode === 'form_post' || mode === 'form_post.jwt'
}

/**
 * Whether authorization responses may arrive in the fragment of the callback URL. True if the client requests the
 * fragment. Also true for every response type except `code`, because the IdP may ignore the requested mode.
 */
export function mayComeInFragment({ response_types: [type], response_mode: mode }: ModeSettings): boolean {
  return type !== 'code' || mode === 'fragment' || mode === 'fragment.jwt'
}

/** Whether the whole answer must be signed (JARM). Source: JWT Secured Authorization Response Mode for OAuth 2.0. */
export function isSignedMode(mode: ResponseMode | undefined): boolean {
  return mode?.endsWith('jwt') ?? false
}
