import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import type { Application } from 'express'
import type { Clock } from '../clock.ts'
import { MEMBERS, REQUEST_MEMBERS } from '../doctor/meshcentral-members.ts'
import type { MeshDomain, MeshRequest, MeshServer, MeshSocket } from './server.ts'

/** Until MeshCentral has answered a socket of ours. The tested versions do it at once. */
const ANSWER_LIMIT_MS = 10_000

/** Names of what this MeshCentral lacks of what single sign-on needs. */
export function missingParts(server: object, web: object): readonly string[] {
  const lacking = (of: unknown, name: string, type: 'function' | 'object') => {
    const value: unknown = typeof of === 'object' && of !== null ? Reflect.get(of, name) : undefined
    // An Express application is a function, and has members as objects have.
    const there =
      type === 'function' ? typeof value === 'function' : value !== null && /object|function/.test(typeof value)
    return there ? [] : [name]
  }
  const owners = { server, web, db: Reflect.get(server, 'db') as unknown }
  return Object.entries(MEMBERS).flatMap(([owner, { functions, objects }]) => {
    const of = owners[owner as keyof typeof owners]
    return [
      ...functions.flatMap((name) => lacking(of, name, 'function')),
      ...objects.flatMap((name) => lacking(of, name, 'object')),
    ]
  })
}

/** Names of what MeshCentral has not noted of a request. */
export function missingOf(req: MeshRequest): readonly string[] {
  const wanted = { session: 'object', xdomain: 'object', clientIp: 'string' }
  return REQUEST_MEMBERS.filter((name) => req[name] === null || typeof req[name] !== wanted[name])
}

interface Layer {
  readonly route?: { readonly path?: unknown }
  match(path: string): boolean
}

/** What Express asks one after the other. Undefined: not as Express 4 and 5 have it. */
export function layersOf(app: Application): Layer[] | undefined {
  // In Express 4 `router` throws.
  const router: unknown = Reflect.get(app, '_router') ?? Reflect.get(app, 'router')
  const layers: unknown =
    router !== null && /object|function/.test(typeof router) ? Reflect.get(router as object, 'stack') : undefined
  return Array.isArray(layers) ? (layers as Layer[]) : undefined
}

/** Place of the first route that serves a domain: behind it nothing of ours would be asked. -1: there is none yet. */
export function firstRoute(layers: readonly Layer[], bases: readonly string[]): number {
  const paths = bases.flatMap((base) =>
    ['', 'login', 'logout', 'auth-oidc', 'control.ashx/.websocket'].map((name) => base + name),
  )
  return layers.findIndex((layer) => {
    const path = layer.route?.path
    // MeshCentral looks at each web socket before any route: nothing is served by that.
    return layer.route && !isForAnySocket(String(path)) && paths.some((one) => layer.match(one))
  })
}

function isForAnySocket(path: string): boolean {
  return path.includes('*') && path.endsWith('.websocket')
}

/** Whether what MeshCentral seals comes back with all that we put in. */
export function keepsSealed({ encodeCookie, decodeCookie }: Sealing, key: Buffer): boolean {
  const content = { userid: 'user//self-test', x: 'x', oidcSession: { keys: ['key'], startedAt: 1 } }
  const opened = decodeCookie(encodeCookie({ ...content }, key), key, 1)
  if (opened === null || typeof opened.time !== 'number') return false
  return Object.entries(content).every(([name, value]) => isDeepStrictEqual(Reflect.get(opened, name), value))
}

export type Sealing = Pick<MeshServer, 'encodeCookie' | 'decodeCookie'>

/**
 * Has MeshCentral open something sealed, in the way that it does for a page: by a socket of nobody's that never leaves
 * this process. It comes through all that is mounted before the routes, and the answer is that nobody is signed in.
 *
 * @param isOpened whether ours was called for what was sealed by then
 * @param onAnswer called once, with whether it was when the socket has its answer, or has none in time
 */
export function askForOpening(
  app: Application,
  { url, dns, loginkey }: MeshDomain,
  { sealed, host, clock, isOpened }: Probe,
  onAnswer: (isOpened: boolean) => void,
): void {
  let isAnswered = false
  const answer = () => {
    timer.cancel()
    if (!isAnswered) onAnswer(isOpened())
    isAnswered = true
  }
  const timer = clock.after(ANSWER_LIMIT_MS, answer)
  const req = new IncomingMessage(new Socket())
  const res = new ServerResponse(req)
  const query = new URLSearchParams({ auth: sealed, key: String(Array.isArray(loginkey) ? loginkey[0] : loginkey) })
  const nothing = () => undefined
  const socket = {
    ...{ _socket: { pause: nothing, resume: nothing }, on: nothing, send: nothing, removeEventListener: nothing },
    ...{ emit: () => false, close: answer },
  } satisfies MeshSocket & object
  Object.assign(req, { method: 'GET', url: `${url}control.ashx/.websocket?${query}`, ws: socket })
  Object.assign(req.headers, { host: dns ?? host, upgrade: 'websocket' })
  Object.assign(res, { writeHead: answer })
  app(req as Parameters<Application>[0], res as Parameters<Application>[1], answer)
}

export interface Probe {
  readonly sealed: string
  /** Name of the server. */
  readonly host: string
  readonly clock: Clock
  readonly isOpened: () => boolean
}

/** Before the first request is handled in any way. By then MeshCentral has made all its routes. */
export function beforeFirstRequest(app: Application, act: () => void): void {
  const { handle } = app as unknown as { readonly handle: (...given: unknown[]) => void }
  let isFirst = true
  const handleFirst = (...given: unknown[]) => {
    if (isFirst) {
      isFirst = false
      act()
    }
    handle.apply(app, given)
  }
  Object.assign(app, { handle: handleFirst })
}
