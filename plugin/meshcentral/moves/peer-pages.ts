import { isJsonObject } from '../../config/json/json-object.ts'
import { isLocked, type MeshServer, type MeshWeb } from '../server.ts'

/**
 * Updates this server's open pages when an account changes at another peer: closes those of a locked account, and
 * subscribes others anew.
 *
 * Acts on the change that the database reports. MeshCentral's event `resubscribe` is lost if the peers are
 * disconnected. If it arrives before the change, pages are subscribed by the old rights.
 */
export function updatePeerPages(
  server: Pick<MeshServer, 'db' | 'multiServer' | 'AddEventDispatch'>,
  web: Pick<MeshWeb, 'users' | 'wssessions' | 'subscribe'>,
): void {
  if (!server.multiServer) return
  const HandleEvent = (source: unknown, event: unknown) => {
    // Handle only changes that the database itself reports: events with the database as `source`.
    if (source !== server.db || !isJsonObject(event) || event.action !== 'accountchange') return
    const id = String(event.userid)
    const user = Object.hasOwn(web.users, id) ? web.users[id] : undefined
    if (!user) return
    if (isLocked(user)) closePages(web, id)
    else for (const page of web.wssessions?.[id] ?? []) web.subscribe?.(id, page)
  }
  server.AddEventDispatch?.(['server-users'], { HandleEvent })
}

/**
 * Closes a user's open pages here. MeshCentral's event `close` would make it handle the end of a socket twice, and send
 * peers a message without a session id that crashes them.
 */
export function closePages({ wssessions }: Pick<MeshWeb, 'wssessions'>, id: string): void {
  for (const page of [...(wssessions?.[id] ?? [])]) page.close()
}
