import { randomBytes } from 'node:crypto'
import type { ServerMetadata } from 'openid-client'
import { type Clock, deadlineSignal } from '../../clock.ts'
import type { DomainSettings } from '../../config/settings.ts'
import type { Fetch } from '../http/limited-fetch.ts'
import type { Issuer } from '../issuer/discovery.ts'

/** nginx takes 4 KB of answer headers with its defaults, the address among them; an ID token with 50 groups has 3. */
const MOST_HINT_CHARACTERS = 1_500
/** A person waits for this. */
const QUESTION_MS = 5_000

/** What is known of a session that ends. */
export interface EndingSession {
  readonly subject: string
  readonly sid: string | null
  /** Null: the session could not keep it. */
  readonly idToken: string | null
}

/** Where a browser that is signed out here goes on to. */
export type SignOut =
  | { readonly kind: 'redirect'; readonly url: URL }
  /** The same, with what is too long for an address. `fields` hold a secret: never in a log. */
  | { readonly kind: 'form'; readonly url: URL; readonly fields: Readonly<Record<string, string>> }
  /** The IdP has no such place. */
  | { readonly kind: 'nowhere' }

/** How one domain's sessions are ended at its IdP, by the browser (OpenID Connect RP-Initiated Logout 1.0). */
export interface EndSession {
  /**
   * Whether logouts lead to an end-session endpoint that the IdP publishes or an administrator set: it ends the IdP's
   * session, and needs that one alive until then.
   *
   * @throws LoginError
   */
  endsAtIdp(): Promise<boolean>
  /** @param session null: it is none of this IdP's. @throws LoginError */
  next(session: EndingSession | null): Promise<SignOut>
}

export interface EndSessionDeps {
  readonly issuer: Issuer
  /** Limited. */
  readonly fetch: Fetch
  /** Called when there proves to be nothing at the default address. */
  readonly onMissing: (address: string, status: number) => void
  readonly clock: Clock
}

export function createEndSession(settings: DomainSettings, deps: EndSessionDeps): EndSession {
  const { issuer, fetch, onMissing, clock } = deps
  const { client, logoutUrl } = settings
  let asked: { readonly metadata: ServerMetadata; readonly answer: Promise<boolean> } | undefined

  /**
   * Asked for at the first logout after a discovery: many an IdP without an end-session endpoint has nothing there
   * either.
   */
  function isDefaultThere(metadata: ServerMetadata): Promise<boolean> {
    if (asked?.metadata !== metadata) asked = { metadata, answer: askDefault(defaultAddress(metadata)) }
    return asked.answer
  }

  async function askDefault(address: string): Promise<boolean> {
    const { signal, clear } = deadlineSignal(clock, QUESTION_MS)
    try {
      const request = { method: 'GET', headers: {}, body: undefined, redirect: 'manual', signal } as const
      const { status } = await fetch(address, request)
      const isThere = status !== 404 && status !== 410
      if (!isThere) onMissing(address, status)
      return isThere
    } catch {
      // The browser may reach what this server does not.
      return true
    } finally {
      clear()
    }
  }

  function parameters(hint: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const { client_id, post_logout_redirect_uri: back } = client
    return {
      ...hint,
      client_id,
      ...(back === null ? {} : { post_logout_redirect_uri: back }),
      // Nothing here needs it; some IdPs lead back only with it.
      state: randomBytes(16).toString('base64url'),
    }
  }

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
        if (!(await isDefaultThere(metadata))) return { kind: 'nowhere' }
        // Nobody has said what this page is: nothing of the session goes there.
        return { kind: 'redirect', url: withParameters(defaultAddress(metadata), parameters({})) }
      }
      const hint = session === null ? {} : hintOf(session)
      const fields = parameters(hint)
      return Object.values(hint).some((value) => encodeURIComponent(value).length > MOST_HINT_CHARACTERS)
        ? { kind: 'form', url: new URL(endpoint), fields }
        : { kind: 'redirect', url: withParameters(endpoint, fields) }
    },
  }
}

/** Source: Issuer object of the specification, `end_session_endpoint`. */
function defaultAddress({ issuer }: ServerMetadata): string {
  return `${issuer.replace(/\/$/, '')}/logout`
}

/**
 * Who logs out: the ID token, or where the session did not keep it, the IdP's own name of the session or of the person.
 * Source: OpenID Connect RP-Initiated Logout 1.0, section 2.
 */
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
