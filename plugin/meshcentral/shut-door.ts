import type { MeshRequest, MeshServer, MeshWeb } from './server.ts'
import { userOf } from './sessions/sealed.ts'

export interface ShutDoor {
  /** From now on the guard holds the sessions of these domains. */
  openFor(domains: ReadonlySet<string>): void
}

/**
 * Lets nobody in whose account is one of single sign-on, by a session or by what MeshCentral sealed for one, on HTTP and web sockets,
 * wherever the guard is not at work: before it is, where it could not start, and in domains without an `oidc` object. MeshCentral alone
 * takes each cookie that its key signed, those of sessions that were ended too.
 *
 * @param onDropped called once, with the first account that it kept out
 */
export function shutDoor(
  server: Partial<Pick<MeshServer, 'decodeCookie'>>,
  { app }: Partial<Pick<MeshWeb, 'app'>>,
  onDropped: (user: string) => void,
): ShutDoor {
  let held: ReadonlySet<string> = new Set()
  let told = false

  function isUnheld(user: unknown): boolean {
    const [, domainId] = (typeof user === 'string' && /^user\/([^/]*)\/~oidc:/.exec(user)) || []
    if (domainId === undefined || held.has(domainId)) return false
    if (!told) onDropped(String(user))
    told = true
    return true
  }

  // A version that has neither is one that nothing is known of.
  app?.use((req, _res, next) => {
    if (isUnheld((req as MeshRequest).session?.userid)) Reflect.set(req, 'session', {})
    next()
  })
  const unseal = server.decodeCookie?.bind(server)
  if (unseal)
    server.decodeCookie = (sealed, key, minutes) => {
      const cookie = unseal(sealed, key, minutes)
      return cookie !== null && isUnheld(userOf(cookie)) ? null : cookie
    }
  return {
    openFor(domains) {
      held = domains
    },
  }
}
