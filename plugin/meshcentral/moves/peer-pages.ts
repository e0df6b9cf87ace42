import { isJsonObject } from '../../config/json/json-object.ts'
import { isLocked, type MeshServer, type MeshWeb } from '../server.ts'

/**
 * Updates this server's open pages when an account changes at another peer. Closes the pages of a locked account, and
 * subscribes other pages to what the account's rights include now.
 *
 * MeshCentral's event `resubscribe` crosses to the peers over their own connection. It is lost while that connection is
 * down. If it arrives before the change itself, pages are subscribed by the old rights. So this function acts on the
 * change that the database reports. It does nothing for accounts without an open page here.
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
 * Closes a user's open pages on this server. Does not send MeshCentral's event `close`: after that event, MeshCentral
 * handles the end of a page's socket twice. The second time, it sends its peers a message without a session id, and a
 * peer that receives such a message crashes.
 */
export function closePages({ wssessions }: Pick<MeshWeb, 'wssessions'>, id: string): void {
  for (const page of [...(wssessions?.[id] ?? [])]) page.close()
}
