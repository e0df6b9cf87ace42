import type { MeshRequest, MeshSocket } from '../server.ts'

const IS_PAGE = Symbol('page')

/**
 * Functions that MeshCentral puts into its signed-in page, as text: it lets a plugin do that, and lets the server call them there. Once
 * its session has ended the page loads itself anew, and so comes to the login page; by itself it speaks of a server that is down. It lets
 * somebody go on who is just leaving it: loading anew would hold a logout up on its way to the IdP.
 *
 * On *My Server* full administrators find a link to the status page: MeshCentral's list of plugins knows only those that were installed
 * from there.
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
    var isLeaving = function () { return Date.now() - (own.leavingAt || 0) < 5000; };
    if (isLeaving()) return;
    server.onStateChanged = null;
    setTimeout(function () { if (!isLeaving()) { window.location.reload(); } }, 500);
  }`,
} as const

/** Remembers of a web socket that a signed-in page hangs on it; others lead to devices, and would take our words for theirs. */
export function notePage({ ws, path }: MeshRequest): void {
  if (ws && path.endsWith('/control.ashx/.websocket')) Reflect.set(ws, IS_PAGE, true)
}

/** Has the page behind a socket, if there is one, load itself anew: to be sent before the socket is closed or refused, since its session has ended. */
export function sendToLogin(socket: MeshSocket): void {
  const send: unknown = Reflect.get(socket, IS_PAGE) === true ? Reflect.get(socket, 'send') : undefined
  if (typeof send !== 'function') return
  const method: keyof typeof PAGE_FUNCTIONS = 'signedOut'
  send.call(socket, JSON.stringify({ action: 'plugin', plugin: 'meshcompanion', method }))
}
