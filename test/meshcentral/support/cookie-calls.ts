import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A place in MeshCentral's sources that opens a sealed cookie. */
export interface CookieCall {
  /** File, surrounding function and arguments: constant as long as MeshCentral does the same there. */
  readonly name: string
  /** `file:line`. */
  readonly place: string
}

const SURROUNDINGS = [
  /function (\w+)\s*\(/,
  /([\w.]+) = (?:async )?function\b/,
  /(?:app|webRelayRouter)\.(?:get|post|put|ws|use)\(([^,]*),/,
  /case ('[^']*'): \{/,
]

/** Returns all places of an installation that open sealed cookies, in the order of its files. */
export function cookieCalls(installation: string): readonly CookieCall[] {
  const folder = join(installation, 'node_modules/meshcentral')
  const files = readdirSync(folder).filter((name) => name.endsWith('.js'))
  return files.toSorted().flatMap((file) => callsIn(file, readFileSync(join(folder, file), 'utf8')))
}

function callsIn(file: string, text: string): readonly CookieCall[] {
  let inside = ''
  return text.split('\n').flatMap((line, index) => {
    inside = SURROUNDINGS.map((pattern) => pattern.exec(line)?.[1]).find((name) => name !== undefined) ?? inside
    const code = line.replace(/^\s*\/\/.*/, '')
    return [...code.matchAll(/\bdecodeCookie\((.*?)\);/g)].map(([, argumentList = '']) => ({
      name: `${file} ${inside}: ${argumentList}`.replaceAll(/\b(?:obj|parent)\./g, ''),
      place: `${file}:${index + 1}`,
    }))
  })
}

/** Reasons why a guest's cookie, which is sealed with `loginCookieEncryptionKey`, cannot open there. */
const OTHER_KEY = 'opens cookies sealed with another key'
const OTHER_PORT = 'serves a port for Intel AMT, and accepts only `a: "apf"`'

/**
 * The places where MeshCentral 1.1.51 and 1.1.55 open sealed cookies. The value is the reason why a guest's cookie
 * cannot be opened there. If it is null, the tests send a guest's cookie there. Review each place that a new version
 * adds: could MeshCentral take a guest for the user who shares?
 */
export const COOKIE_CALLS: ReadonlyMap<string, string | null> = new Map([
  ["apprelays.js 'infos': infos.ip, loginCookieEncryptionKey", null],
  ["apprelays.js 'resize': req.query.auth, loginCookieEncryptionKey", null],
  ["meshagent.js '2faauth': urlSplit[1], null, 1", OTHER_KEY],
  ['meshdesktopmultiplex.js HandleEvent: req.query.rauth, loginCookieEncryptionKey, 240', null],
  ['meshdevicefile.js module.exports.CreateMeshDeviceFile: req.query.rauth, loginCookieEncryptionKey, 240', null],
  ['meshrelay.js HandleEvent: req.query.rauth, loginCookieEncryptionKey, 240', null],
  ['meshuser.js serverCommandConfirmPhone: command.cookie', OTHER_KEY],
  ['meshuser.js serverCommandConfirmMessaging: command.cookie', OTHER_KEY],
  ['mpsserver.js ProcessCommand: password, loginCookieEncryptionKey', OTHER_PORT],
  ["mpsserver.js onHttpData: directives[1].substring(3).split('.')[0], loginCookieEncryptionKey, 30", OTHER_PORT],
  ["webrelayserver.js '/control-redirect.ashx': req.query.c, loginCookieEncryptionKey, 32", null],
  [
    'webserver.js checkUserOneTimePasswordSkip: decodeURIComponent(cookies[i].substring(10)), loginCookieEncryptionKey, (30 * 24 * 60)',
    null,
  ],
  [
    'webserver.js checkUserOneTimePasswordRequired: decodeURIComponent(cookies[i].substring(10)), loginCookieEncryptionKey, (30 * 24 * 60)',
    null,
  ],
  [
    'webserver.js checkUserOneTimePassword: decodeURIComponent(token.substring(7)), loginCookieEncryptionKey, (30 * 24 * 60)',
    null,
  ],
  ['webserver.js handleCreateAccountRequest: req.body.captchaargs, loginCookieEncryptionKey, 10', null],
  ['webserver.js handleCheckMailRequest: req.query.c, domain.mailserver.mailCookieEncryptionKey, 30', OTHER_KEY],
  ['webserver.js handleMSTSCRequest: req.query.login, loginCookieEncryptionKey, 60', null],
  ['webserver.js handleMSTSCRequest: req.query.ws, loginCookieEncryptionKey, 60', null],
  ['webserver.js handleAgentInviteRequest: req.query.c, invitationLinkEncryptionKey', OTHER_KEY],
  ['webserver.js handleDeleteAccountRequest: req.body.authcookie, loginCookieEncryptionKey, 60', null],
  ['webserver.js handleRootRequestEx: req.query.login, loginCookieEncryptionKey, 60', null],
  ["webserver.js 'tokenlogin': req.body.hwstate, loginCookieEncryptionKey, 10", null],
  ["webserver.js 'pushlogin': req.body.hwstate, loginCookieEncryptionKey, 1", null],
  ['webserver.js handleNewAccountCaptchaRequest: req.query.x, loginCookieEncryptionKey', null],
  ['webserver.js handleDeviceFile: req.query.c, loginCookieEncryptionKey, 60', null],
  ['webserver.js handleAgentDownloadFile: req.query.c, loginCookieEncryptionKey, 5', null],
  ['webserver.js handleSharingRequest: req.query.c, invitationLinkEncryptionKey, 9999999999', OTHER_KEY],
  ['webserver.js handleUploadMeshCoreFile: fields.auth[0], loginCookieEncryptionKey, 60', null],
  ['webserver.js handleOneClickRecoveryFile: fields.auth[0], loginCookieEncryptionKey, 60', null],
  ['webserver.js handleUploadFile: fields.auth[0], loginCookieEncryptionKey, 60', null],
  ['webserver.js handleUploadFileBatch: fields.auth[0], loginCookieEncryptionKey, 60', null],
  ['webserver.js handleAgentFileTransfer: req.query.c, loginCookieEncryptionKey, 10', null],
  ['webserver.js handle2faHoldWebSocket: req.query.c, null, 1', OTHER_KEY],
  ['webserver.js handleRestoreRequest: fields.auth[0], loginCookieEncryptionKey, 60', null],
  ['webserver.js handleMeshAgentRequest: req.query.meshid, invitationLinkEncryptionKey', OTHER_KEY],
  ['webserver.js handleMeshAgentRequest: req.query.auth, loginCookieEncryptionKey', null],
  ['webserver.js handleMeshOsxAgentRequest: req.query.meshid, invitationLinkEncryptionKey', OTHER_KEY],
  ['webserver.js getMshFromRequest: req.query.id, invitationLinkEncryptionKey', OTHER_KEY],
  [
    "webserver.js url + 'auth-azure-callback': req.query.state, loginCookieEncryptionKey, 10",
    'takes only the name of a preset from it, and exists only with the Azure strategy',
  ],
  ["webserver.js '/control-redirect.ashx': req.query.c, loginCookieEncryptionKey, 32", null],
  ['webserver.js PerformWSSessionAuth: req.query.auth, loginCookieEncryptionKey, 60', null],
  ['webserver.js PerformWSSessionAuth: req.query.auth, serverKey, 60', OTHER_KEY],
])
