import { type AprsIsServer, startAprsIs } from '../../../../fixtures/aprsis/server.ts'
import type { Certificates } from '../../../../fixtures/certificate.ts'
import { type ApnsFixture, startApns } from '../../../../fixtures/push/apns.ts'
import { type FcmFixture, startFcm } from '../../../../fixtures/push/fcm.ts'
import type { Happenings } from '../happenings.ts'

/** Events of a site. */
export interface SiteEvents {
  readonly certificates: Certificates
  readonly happenings: Happenings
  /** A notification was accepted: the token, and its data, as a phone gets it. */
  onPush(token: string, data: Readonly<Record<string, unknown>>): void
  /** Called with the line of each ack that the instance sent. */
  onAck(line: string): void
  /** A client logged in with this callsign. */
  onLogin(call: string): void
}

/**
 * An APRS-IS server and push gateways that only one instance uses, so that all their traffic is known to be its own.
 */
export interface Site {
  /** `aprsis` and `push` of its configuration, in part. */
  readonly aprsis: { readonly host: string; readonly port: number }
  readonly push: { readonly fcm: FcmFixture['settings']; readonly apns: ApnsFixture['settings'] }
  /** Callsigns that are logged in now. */
  readonly calls: ReadonlySet<string>
  /** Whether the logged-in clients together receive the messages to all `stations`. */
  hears(stations: readonly string[]): boolean
  inject(line: string): void
  close(): Promise<void>
}

/** @param serverCall of its APRS-IS server */
export async function startSite(serverCall: string, events: SiteEvents): Promise<Site> {
  const { certificates, happenings, onPush, onAck, onLogin } = events
  const server: AprsIsServer = await startAprsIs({ serverCall })
  const fcm = await startFcm({ certificates, onReceived: ({ token, data }) => onPush(token, data) })
  const apns = await startApns({
    certificates,
    onReceived: ({ deviceToken, payload: { aps: _, ...data } }) => onPush(deviceToken, data),
  })
  let calls: ReadonlySet<string> = new Set()
  let filters = ''
  let request: { readonly stations: readonly string[]; readonly filters: string; readonly all: boolean } | undefined

  function look(): void {
    const clients = server.clients()
    calls = new Set(clients.map(({ call }) => call))
    filters = clients.map(({ filter }) => `${filter}/`).join(' ')
    happenings.tell()
  }
  server.events.on('login', ({ call }) => {
    look()
    onLogin(call)
  })
  server.events.on('filter', look)
  server.events.on('disconnect', look)
  server.events.on('packet', ({ line }) => {
    if (/:ack\w+$/.test(line)) onAck(line)
  })

  return {
    aprsis: { host: server.host, port: server.port },
    push: { fcm: fcm.settings, apns: apns.settings },
    get calls() {
      return calls
    },
    hears(stations) {
      // Cached, because each tick asks for it, and filters seldom change.
      if (request?.stations !== stations || request.filters !== filters)
        request = { stations, filters, all: stations.every((key) => filters.includes(`/${key}/`)) }
      return request.all
    },
    inject: (line) => server.inject(line),
    async close() {
      await Promise.all([server.close(), fcm.close(), apns.close()])
    },
  }
}
