import { replaceFunction } from '../replaced-functions.ts'
import type { MeshRequest, MeshSocket } from '../server.ts'

const IS_PAGE = Symbol('page')
type PageSocket = MeshSocket & { [IS_PAGE]?: true }

/**
 * Functions that MeshCentral copies as text into its page, where the server can call them. Its mobile page calls none,
 * and reloads by itself after 5 seconds.
 */
export const PAGE_FUNCTIONS = {
  onWebUIStartupEnd: `function () {
    var plugin = this.meshcompanion;
    window.addEventListener('beforeunload', function () { plugin.leavingAt = Date.now(); });
  }`,
  /**
   * On *My Server*, shows site admins a link to the status page. MeshCentral's plugin list lacks this plugin unless
   * MeshCentral installed the plugin.
   */
  goPageEnd: `function (page) {
    var place = document.getElementById('p2ServerActions');
    var isAdmin = typeof userinfo == 'object' && userinfo && userinfo.siteadmin === 0xFFFFFFFF;
    if (page != 6 || !place || !isAdmin || document.getElementById('meshcompanionStatus')) return;
    var link = document.createElement('a');
    link.id = 'meshcompanionStatus';
    link.href = domainUrl + 'pluginadmin.ashx?pin=meshcompanion';
    link.target = '_blank';
    link.rel = 'noreferrer noopener';
    link.textContent = 'Single sign-on: status and live check';
    var line = document.createElement('p');
    line.appendChild(link);
    place.parentNode.insertBefore(line, place.nextSibling);
  }`,
  /**
   * Reloads the page after its session ended, instead of saying that the server is down. Not while the user leaves the
   * page, which would delay a logout. Stops after five reloads in a minute, in case the socket does not send the
   * cookie.
   */
  signedOut: `function (server) {
    var plugin = this;
    var now = Date.now();
    var isLeaving = function () { return Date.now() - (plugin.leavingAt || 0) < 5000; };
    if (isLeaving()) return;
    var recent = [];
    try {
      recent = JSON.parse(sessionStorage.getItem('meshcompanionReloads') || '[]').filter(function (time) { return now - time < 60000; });
      sessionStorage.setItem('meshcompanionReloads', JSON.stringify(recent.concat(now)));
    } catch (ex) { }
    if (recent.length >= 5) return;
    server.onStateChanged = null;
    setTimeout(function () { if (!isLeaving()) { window.location.reload(); } }, 500);
  }`,
} as const

/** Marks the socket of a user's page for the plugin's messages. Sockets to devices would misinterpret them. */
export function notePage({ ws, path }: MeshRequest): void {
  const socket: PageSocket | undefined = ws
  if (socket && path.endsWith('/control.ashx/.websocket')) socket[IS_PAGE] = true
}

/**
 * Matches MeshCentral's refusal of a socket without a session. MeshCentral's request for a second factor has a
 * different `msg`.
 */
const REFUSAL = /^\{"action":"close","cause":"noauth","msg":"noauth/

/**
 * Sends a page to the login page if MeshCentral refuses its socket for lack of a session. On a busy machine, another
 * tab may sign out seconds before the socket opens. MeshCentral alone would stop at "Unable to perform authentication".
 *
 * A refusal is always a socket's first message.
 */
export function reloadIfRefused(socket: PageSocket): void {
  const { send } = socket
  if (!socket[IS_PAGE] || typeof send !== 'function') return
  replaceFunction('socket.send', socket, 'send', (boundSend) => (...message) => {
    socket.send = send
    const [text] = message
    if (typeof text === 'string' && REFUSAL.test(text)) sendToLogin(socket)
    return boundSend(...message)
  })
}

/**
 * If the socket belongs to a page, makes that page reload itself. Called before the socket is closed or refused because
 * its session ended.
 */
export function sendToLogin(socket: PageSocket): void {
  if (!socket[IS_PAGE] || typeof socket.send !== 'function') return
  const method: keyof typeof PAGE_FUNCTIONS = 'signedOut'
  socket.send(JSON.stringify({ action: 'plugin', plugin: 'meshcompanion', method }))
}
