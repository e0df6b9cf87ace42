import { decodeJwt } from 'jose'

/** Servers and proxies refuse addresses that are much longer; an ID token with many groups is. */
const MOST_HINT_CHARACTERS = 4_096

/** What is known of a session that ends. */
export interface EndingSession {
  readonly subject: string
  readonly sid: string | null
  /** Null: the session could not keep it. */
  readonly idToken: string | null
}

/**
 * Who logs out, as parameters for the IdP: the ID token, or where that is too large or was not kept, a word that the IdP itself gave
 * for the purpose (`login_hint`), its session id, or the subject. Source: OpenID Connect RP-Initiated Logout 1.0, section 2.
 */
export function logoutHint({ subject, sid, idToken }: EndingSession): Readonly<Record<string, string>> {
  if (idToken !== null && idToken.length <= MOST_HINT_CHARACTERS) return { id_token_hint: idToken }
  return { logout_hint: (idToken === null ? undefined : loginHint(idToken)) ?? sid ?? subject }
}

function loginHint(idToken: string): string | undefined {
  try {
    const { login_hint: hint } = decodeJwt(idToken)
    return typeof hint === 'string' && hint !== '' && hint.length <= MOST_HINT_CHARACTERS ? hint : undefined
  } catch {
    return undefined
  }
}
