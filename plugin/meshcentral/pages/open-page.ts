import { replaceFunction } from '../replaced-functions.ts'
import type { MeshRequest, MeshSocket } from '../server.ts'

const IS_PAGE = Symbol('page')
type PageSocket = MeshSocket & { [IS_PAGE]?: true }

/**
 * Functions for the browser. MeshCentral copies them as text into its page for signed-in users, where the server can
 * call them.
 *
 * `signedOut` reloads the page after its session ended, which leads to the login page. Without it, the page would say
 * that the server is down. `signedOut` does not reload a page that the user is leaving, because that would delay a
 * logout. It stops after five reloads in a minute. Otherwise a page would reload forever if its socket does not send
 * the cookie.
 *
 * `goPageEnd` shows site admins a link to the status page on *My Server*. MeshCentral's list of plugins shows only
 * plugins that were installed through that list.
 *
 * MeshCentral's mobile page calls no functions of plugins. It reloads by itself after 5 seconds.
 */
export const PAGE_FUNCTIONS = {
  onWebUIStartupEnd: `function () {
    var plugin = this.meshcompanion;
    window.addEventListener('beforeunload', function () { plugin.leavingAt = Date.now(); });
  }`,
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

/**
 * Marks the web socket of a signed-in user's page. The plugin sends messages to marked sockets only. Other sockets lead
 * to devices, which would misinterpret the messages.
 */
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
 * Sends a page to the login page if MeshCentral refuses the page's socket because it has no session. This happens if
 * the session ends between the page and its socket. On a busy machine, seconds pass in between, and another tab may
 * sign out. MeshCentral alone would leave the page at "Unable to perform authentication".
 *
 * A refusal is always the first message on a socket. So the socket's own `send` is restored at the first message.
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
