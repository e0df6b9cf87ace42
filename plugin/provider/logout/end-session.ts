import { randomBytes } from 'node:crypto'
import type { ServerMetadata } from 'openid-client'
import { type Clock, deadlineSignal } from '../../clock.ts'
import type { ClientSettings, DomainSettings } from '../../config/settings.ts'
import type { Fetch } from '../http/limited-fetch.ts'
import type { Issuer } from '../issuer/discovery.ts'

/**
 * Limit of an encoded ID token hint in an address, in characters. nginx accepts 4 KB of headers; a token with 50 groups
 * has 3 KB.
 */
const MAX_HINT_LENGTH = 1_500
/** Time limit for the check of the default logout address. The user waits for the check. */
const CHECK_LIMIT_MS = 5_000

/** The session on this server that the logout ends. */
export interface EndingSession {
  readonly subject: string
  readonly sid: string | null
  /** The ID token of the session. Null if the session could not store it. */
  readonly idToken: string | null
}

/** Where the browser goes after the user signed out of this server. */
export type SignOut =
  | { readonly kind: 'redirect'; readonly url: URL }
  /**
   * A form that the browser posts, because the ID token hint is too long for an address. `fields` contain a secret and
   * must never be logged.
   */
  | { readonly kind: 'form'; readonly url: URL; readonly fields: Readonly<Record<string, string>> }
  /** The IdP has no logout page. */
  | { readonly kind: 'nowhere' }

/** Ends one domain's sessions at its IdP, through the browser (OpenID Connect RP-Initiated Logout 1.0). */
export interface EndSession {
  /**
   * Whether the browser's redirect ends the session at the IdP, so that this server must not end it.
   *
   * @throws LoginError
   */
  endsAtIdp(): Promise<boolean>
  /**
   * Returns where the browser goes after the session at this server ended.
   *
   * @param session null if the session is not from this IdP
   * @throws LoginError
   */
  next(session: EndingSession | null): Promise<SignOut>
}

export interface EndSessionDeps {
  readonly issuer: Issuer
  /** A `fetch` with time and size limits. */
  readonly fetch: Fetch
  /** Called if the IdP answers 404 or 410 at the default logout address. */
  readonly onMissing: (address: string, status: number) => void
  readonly clock: Clock
}

export function createEndSession({ client, logoutUrl }: DomainSettings, deps: EndSessionDeps): EndSession {
  const { issuer } = deps
  const isDefaultServed = createDefaultAddressCheck(deps)
  return {
    async endsAtIdp() {
      const { end_session_endpoint: endpoint } = await issuer.metadata()
      if (endpoint === undefined) return false
      return logoutUrl === null || withoutQuery(logoutUrl) === withoutQuery(endpoint)
    },

    async next(session) {
      if (logoutUrl !== null) return { kind: 'redirect', url: new URL(logoutUrl) }
      const metadata = await issuer.metadata()
      const endpoint = metadata.end_session_endpoint
      if (endpoint === undefined) {
        if (!(await isDefaultServed(metadata))) return { kind: 'nowhere' }
        // The page at the default logout address is unknown, so send it nothing about the session.
        return { kind: 'redirect', url: withParameters(defaultAddress(metadata), parametersWith({}, client)) }
      }
      const hint = session === null ? {} : hintOf(session)
      const fields = parametersWith(hint, client)
      return Object.values(hint).some((value) => encodeURIComponent(value).length > MAX_HINT_LENGTH)
        ? { kind: 'form', url: new URL(endpoint), fields }
        : { kind: 'redirect', url: withParameters(endpoint, fields) }
    },
  }
}

type IsDefaultServed = (metadata: ServerMetadata) => Promise<boolean>

/** Checks whether the IdP serves the default logout address, once for each discovered metadata. Many IdPs do not. */
function createDefaultAddressCheck({ fetch, onMissing, clock }: EndSessionDeps): IsDefaultServed {
  let checked: { readonly metadata: ServerMetadata; readonly answer: Promise<boolean> } | undefined

  async function check(address: string): Promise<boolean> {
    const { signal, clear } = deadlineSignal(clock, CHECK_LIMIT_MS)
    try {
      const request = { method: 'GET', headers: {}, body: undefined, redirect: 'manual', signal } as const
      const { status } = await fetch(address, request)
      const isServed = status !== 404 && status !== 410
      if (!isServed) onMissing(address, status)
      return isServed
    } catch {
      // If the check of the default logout address fails, use the address nevertheless. The browser may reach it even
      // if this server does not.
      return true
    } finally {
      clear()
    }
  }

  return (metadata) => {
    if (checked?.metadata !== metadata) checked = { metadata, answer: check(defaultAddress(metadata)) }
    return checked.answer
  }
}

function parametersWith(
  hint: Readonly<Record<string, string>>,
  { client_id, post_logout_redirect_uri: returnAddress }: ClientSettings,
): Readonly<Record<string, string>> {
  return {
    ...hint,
    client_id,
    ...(returnAddress === null ? {} : { post_logout_redirect_uri: returnAddress }),
    // This server does not use the `state` parameter, but some IdPs redirect back only if they receive one.
    state: randomBytes(16).toString('base64url'),
  }
}

/**
 * Returns the default logout address, for an IdP that publishes none. Source: Issuer object, `end_session_endpoint`.
 */
function defaultAddress({ issuer }: ServerMetadata): string {
  return `${issuer.replace(/\/$/, '')}/logout`
}

/** Identifies the session by its ID token, `sid` or subject (OpenID Connect RP-Initiated Logout 1.0, section 2). */
function hintOf({ subject, sid, idToken }: EndingSession): Readonly<Record<string, string>> {
  return idToken === null ? { logout_hint: sid ?? subject } : { id_token_hint: idToken }
}

function withParameters(address: string, parameters: Readonly<Record<string, string>>): URL {
  const url = new URL(address)
  for (const [name, value] of Object.entries(parameters)) url.searchParams.append(name, value)
  return url
}

function withoutQuery(address: string): string {
  const { origin, pathname } = new URL(address)
  return origin + pathname
}
