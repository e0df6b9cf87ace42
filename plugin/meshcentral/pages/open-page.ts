import type { MeshRequest, MeshSocket } from '../server.ts'

const IS_PAGE = Symbol('page')

/**
 * Functions that MeshCentral puts into its signed-in page, as text: it lets a plugin do that, and lets the server call
 * them there. Once its session has ended the page loads itself anew, and so comes to the login page; by itself it
 * speaks of a server that is down. It lets somebody go on who is just leaving it: loading anew would hold a logout up
 * on its way to the IdP. At the sixth time in a minute it stays: its socket may come without the cookie that the page
 * comes with.
 *
 * On *My Server* full administrators find a link to the status page: MeshCentral's list of plugins knows only those
 * that were installed from there.
 *
 * A phone's page knows no functions of plugins: that one loads itself anew after 5 seconds, as MeshCentral has it.
 */
export const PAGE_FUNCTIONS = {
  onWebUIStartupEnd: `function () {
    var own = this.meshcompanion;
    window.addEventListener('beforeunload', function () { own.leavingAt = Date.now(); });
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
    var own = this;
    var now = Date.now();
    var isLeaving = function () { return Date.now() - (own.leavingAt || 0) < 5000; };
    if (isLeaving()) return;
    var recent = [];
    try {
      recent = JSON.parse(sessionStorage.getItem('meshcompanionReloads') || '[]').filter(function (at) { return now - at < 60000; });
      sessionStorage.setItem('meshcompanionReloads', JSON.stringify(recent.concat(now)));
    } catch (ex) { }
    if (recent.length >= 5) return;
    server.onStateChanged = null;
    setTimeout(function () { if (!isLeaving()) { window.location.reload(); } }, 500);
  }`,
} as const

/**
 * Remembers of a web socket that a signed-in page hangs on it; others lead to devices, and would take our words for
 * theirs.
 */
export function notePage({ ws, path }: MeshRequest): void {
  if (ws && path.endsWith('/control.ashx/.websocket')) Reflect.set(ws, IS_PAGE, true)
}

/** How MeshCentral refuses a socket that brings no session. It asks for a second factor by the same cause. */
const REFUSAL = /^\{"action":"close","cause":"noauth","msg":"noauth/

/**
 * Sends a page to the login page if MeshCentral refuses its socket for want of a session. The page was made for a
 * session that ended before its socket came: on a busy machine that takes seconds, and another tab may sign out
 * meanwhile. MeshCentral would leave the page at "Unable to perform authentication".
 *
 * MeshCentral refuses by its first message. The socket sends by itself again from then on.
 */
export function reloadIfRefused(socket: MeshSocket): void {
  const send: unknown = Reflect.get(socket, 'send')
  if (Reflect.get(socket, IS_PAGE) !== true || typeof send !== 'function') return
  Reflect.set(socket, 'send', (...message: readonly unknown[]): unknown => {
    Reflect.set(socket, 'send', send)
    const [text] = message
    if (typeof text === 'string' && REFUSAL.test(text)) sendToLogin(socket)
    return Reflect.apply(send, socket, message)
  })
}

/**
 * Has the page behind a socket, if there is one, load itself anew: to be sent before the socket is closed or refused,
 * since its session has ended.
 */
export function sendToLogin(socket: MeshSocket): void {
  const send: unknown = Reflect.get(socket, IS_PAGE) === true ? Reflect.get(socket, 'send') : undefined
  if (typeof send !== 'function') return
  const method: keyof typeof PAGE_FUNCTIONS = 'signedOut'
  send.call(socket, JSON.stringify({ action: 'plugin', plugin: 'meshcompanion', method }))
}
