import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import type { Application } from 'express'
import type { Clock } from '../clock.ts'
import { MEMBERS, REQUEST_MEMBERS } from '../doctor/meshcentral-members.ts'
import { replaceFunction } from './replaced-functions.ts'
import type { Members, MeshDomain, MeshRequest, MeshServer, MeshSocket } from './server.ts'

/** Time limit for MeshCentral's answer to the test socket, in milliseconds. The tested versions answer at once. */
const ANSWER_LIMIT_MS = 10_000

/** Returns the names of members that single sign-on needs and this MeshCentral lacks. */
export function missingParts(server: object, web: object): readonly string[] {
  const { db } = server as { readonly db?: unknown }
  const owners: Readonly<Record<string, unknown>> = { server, web, db }
  return Object.entries(MEMBERS).flatMap(([name, { functions, objects }]) => {
    const owner = owners[name]
    const members: Members = isObject(owner) ? (owner as Members) : {}
    return [
      ...functions.filter((member) => typeof members[member] !== 'function'),
      ...objects.filter((member) => !isObject(members[member])),
    ]
  })
}

/** Whether a value can have members. Functions can have members too, such as an Express application. */
function isObject(value: unknown): value is object {
  return value !== null && (typeof value === 'object' || typeof value === 'function')
}

/** Returns the names of members that MeshCentral should have set on a request and did not. */
export function missingOf(req: MeshRequest): readonly string[] {
  const types = { session: 'object', xdomain: 'object', clientIp: 'string' }
  return REQUEST_MEMBERS.filter((name) => req[name] === null || typeof req[name] !== types[name])
}

interface Layer {
  readonly route?: { readonly path?: unknown }
  match(path: string): boolean
}

/** An application of Express 4 (`_router`) or Express 5 (`router`). */
interface RoutedApp {
  readonly _router?: { readonly stack?: unknown }
  readonly router?: { readonly stack?: unknown }
}

/**
 * Returns the layers of an application's router, in the order in which Express calls them. Undefined if the application
 * is not one of Express 4 or 5.
 */
export function layersOf(app: Application): Layer[] | undefined {
  const routed = app as unknown as RoutedApp
  // Read `_router` first, because reading `router` throws in Express 4.
  const router = routed._router ?? routed.router
  return Array.isArray(router?.stack) ? (router.stack as Layer[]) : undefined
}

/**
 * Returns the index of the first route that serves a domain, or -1. The plugin's routes must come before it, because
 * Express calls the first matching route only.
 */
export function firstRoute(layers: readonly Layer[], bases: readonly string[]): number {
  const paths = bases.flatMap((base) =>
    ['', 'login', 'logout', 'auth-oidc', 'control.ashx/.websocket'].map((name) => base + name),
  )
  return layers.findIndex((layer) => {
    const path = layer.route?.path
    // Skip MeshCentral's route that inspects every web socket, because this route belongs to no domain.
    return layer.route && !isForAnySocket(String(path)) && paths.some((candidate) => layer.match(candidate))
  })
}

function isForAnySocket(path: string): boolean {
  return path.includes('*') && path.endsWith('.websocket')
}

/**
 * Whether MeshCentral's functions preserve the complete content of a cookie. Seals (encrypts) a test cookie and opens
 * it again.
 */
export function keepsSealed({ encodeCookie, decodeCookie }: Sealing, key: Buffer): boolean {
  const content = { userid: 'user//self-test', x: 'x', oidcSession: { keys: ['key'], startedAt: 1 } }
  const opened = decodeCookie(encodeCookie({ ...content }, key), key, 1)
  if (opened === null || typeof opened.time !== 'number') return false
  const { userid, x, oidcSession } = opened
  return isDeepStrictEqual({ userid, x, oidcSession }, content)
}

export type Sealing = Pick<MeshServer, 'encodeCookie' | 'decodeCookie'>

/** A test cookie, and what {@link askForOpening} needs to send it. */
export interface Probe {
  readonly sealed: string
  /** The server's host name. */
  readonly host: string
  readonly clock: Clock
  /** Whether the plugin's `decodeCookie` was called with the test cookie. */
  readonly isOpened: () => boolean
}

/**
 * Makes MeshCentral open a sealed cookie as for a page's web socket. The socket is simulated and has no user, so
 * MeshCentral answers that no user is signed in.
 *
 * @param onAnswer called once, with whether the plugin's `decodeCookie` was called in time
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
    _socket: { pause: nothing, resume: nothing },
    on: nothing,
    send: nothing,
    removeEventListener: nothing,
    emit: () => false,
    close: answer,
  } satisfies MeshSocket & Members
  Object.assign(req, { method: 'GET', url: `${url}control.ashx/.websocket?${query}`, ws: socket })
  Object.assign(req.headers, { host: dns ?? host, upgrade: 'websocket' })
  Object.assign(res, { writeHead: answer })
  app(req as Parameters<Application>[0], res as Parameters<Application>[1], answer)
}

type Handle = (...values: readonly unknown[]) => void

/** Calls `act` once, before any handler of the first request. By then, MeshCentral has all of its routes. */
export function beforeFirstRequest(app: Application, act: () => void): void {
  let isFirst = true
  const handled = app as unknown as { handle?: Handle }
  replaceFunction('app.handle', handled, 'handle', (handle) => (...values) => {
    if (isFirst) {
      isFirst = false
      act()
    }
    handle(...values)
  })
}
