import { isJsonObject } from '../../config/json/json-object.ts'
import { isLocked, type MeshServer, type MeshWeb } from '../server.ts'

/**
 * Updates this server's open pages when an account changes at another peer. Closes the pages of a locked account, and
 * subscribes other pages to what the account's rights include now.
 *
 * MeshCentral's events `close` and `resubscribe` cross to the peers over their own connection. They are lost while that
 * connection is down. If they arrive before the change itself, pages are subscribed by the old rights. So this function
 * acts on the change that the database reports. It does nothing for accounts without an open page here.
 */
export function updatePeerPages(
  server: Pick<MeshServer, 'db' | 'multiServer' | 'AddEventDispatch'>,
  web: Pick<MeshWeb, 'users' | 'wssessions' | 'subscribe'>,
): void {
  if (!server.multiServer) return
  const HandleEvent = (source: unknown, event: unknown) => {
    // Handle only changes that the database itself reports. The source of such an event is the database.
    if (source !== server.db || !isJsonObject(event) || event.action !== 'accountchange') return
    const id = String(event.userid)
    const user = Object.hasOwn(web.users, id) ? web.users[id] : undefined
    if (!user) return
    for (const page of [...(web.wssessions?.[id] ?? [])]) {
      if (isLocked(user)) page.HandleEvent?.(server.db, 'close', [id], id)
      else web.subscribe?.(id, page)
    }
  }
  server.AddEventDispatch?.(['server-users'], { HandleEvent })
}
