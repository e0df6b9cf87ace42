import { firstRoute, keepsSealed, layersOf, missingParts, type Sealing } from '../self-test.ts'
import type { MeshServer, MeshWeb } from '../server.ts'
import type { CookieKey } from './cookie-key.ts'

/** The start of each message about a version of MeshCentral that works differently from the tested ones. */
export const UNKNOWN_VERSION = 'does not know this version of MeshCentral:'

/** Returns the paths below which the server's domains are served. */
export function basesOf({ config }: MeshServer): readonly string[] {
  return Object.values(config.domains).map(({ url }) => url)
}

/**
 * Returns why single sign-on cannot work in this server, or undefined if it can. The text completes the sentence
 * "Single sign-on by meshcompanion …".
 *
 * @param sealing MeshCentral's own functions
 */
export function obstacle(
  server: MeshServer,
  web: MeshWeb,
  sealing: Partial<Sealing>,
  cookieKey: CookieKey,
): string | undefined {
  const unknown = (difference: string) => `${UNKNOWN_VERSION} ${difference}`
  const missing = missingParts(server, web)
  if (missing.length > 0) return unknown(`it lacks ${missing.join(', ')}`)
  if (cookieKey.hasUnknownForm()) return unknown('db.Get answers in an unknown form')
  const layers = layersOf(web.app)
  if (!layers) return unknown('its Express app has no list of routes')
  if (firstRoute(layers, basesOf(server)) >= 0) return unknown('it had routes before it called hook_setupHttpHandlers')
  const key = cookieKey.get()
  if (!key) return 'failed to start: the database did not return the cookie key in time. Restart MeshCentral'
  return keepsSealed(sealing as Sealing, key)
    ? undefined
    : unknown('decodeCookie does not return the content that encodeCookie sealed')
}
