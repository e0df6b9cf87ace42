import type { ServerMetadata } from 'openid-client'
import type { ClientSettings, ResponseMode } from '../../config/settings.ts'

type ModeSettings = Pick<ClientSettings, 'response_types' | 'response_mode'>

/**
 * Chooses the response mode. ID tokens arrive as a form, or else in the fragment, because a query would end up in logs.
 * Codes use the IdP's default (undefined).
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
 * Whether answers may arrive in the fragment. ID tokens may in any mode, because an IdP may ignore the requested one.
 */
export function mayComeInFragment({ response_types: [type], response_mode: mode }: ModeSettings): boolean {
  return type !== 'code' || mode === 'fragment' || mode === 'fragment.jwt'
}

/** Whether the whole answer must be signed (JARM). Source: JWT Secured Authorization Response Mode for OAuth 2.0. */
export function isSignedMode(mode: ResponseMode | undefined): boolean {
  return mode?.endsWith('jwt') ?? false
}
