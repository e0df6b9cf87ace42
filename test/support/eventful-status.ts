import type { Status } from '../../sidecar/operator/page/status.ts'

const NOW = Date.UTC(2026, 4, 17, 14, 3, 21)
const HOSTILE = '<script>alert("it\'s")</script>&amp;'

/** Returns the status of a sidecar with many successes and some faults. It is the same at each call. */
export function eventfulStatus(changes: Partial<Status> = {}): Status {
  const filter = `g/${Array.from({ length: 880 }, (_, index) => `N${index}CALL`).join('/')}`
  const login = { verified: true, server: 'T2TEST', sinceMs: NOW - 5_400_000, filter, recentDrops: 0, stations: 880 }
  const waiting = { ...login, state: 'waiting', server: null, verified: false } as const
  const gateway = {
    state: 'working',
    credentialsRefused: false,
    tokensDoubted: false,
    lastRefused: undefined,
    lastFailed: undefined,
  } as const
  return {
    version: '1.2.3',
    callsign: 'N0CALL-10',
    now: NOW,
    startedAt: NOW - 86_400_000 * 12,
    obstacles: ['upstream_filter_unconfirmed'],
    upstream: {
      connected: true,
      verified: true,
      ready: false,
      paused: false,
      leftOut: 0,
      listener: 0,
      listeners: { held: 1, wanted: 1 },
      others: [],
      connections: [
        { ...login, callsign: 'N0CALL-10', state: 'up', bytesIn: 48_211_907, bytesOut: 1_204_455 },
        { ...login, callsign: 'N0CALL-A1', state: 'confirming', bytesIn: 22_018_344, bytesOut: 640_120 },
        { ...waiting, callsign: 'N0CALL-A2', bytesIn: 9_344, bytesOut: 8_011 },
      ],
    },
    lastPacketAt: NOW - 2000,
    stations: 2600,
    devices: { android: 1702, ios: 938, webpush: 0 },
    maxStations: 5000,
    gateways: [
      {
        ...gateway,
        platform: 'android',
        state: 'refusing',
        lastAcceptedAt: NOW - 1_200_000,
        lastRefused: { at: NOW - 1_140_000, reason: `FCM finds the payload invalid ${HOSTILE}` },
        waiting: 1,
      },
      {
        ...gateway,
        platform: 'ios',
        lastAcceptedAt: NOW - 4000,
        lastFailed: { at: NOW - 1_320_000, reason: 'no answer within 10 s' },
        waiting: 2,
      },
    ],
    pushesUnderWay: 3,
    storeFault: undefined,
    databaseBytes: 34_273_280,
    diskFreeBytes: 21_400_000_000,
    certificateExpiresAt: undefined,
    shared: undefined,
    lastBackupAt: NOW - 37_000_000,
    memoryBytes: 142_000_000,
    counts: {
      lines_received: 4_211_907,
      messages_stored: 41_204,
      messages_duplicate: 9_117,
      messages_lost: 8,
      pushes_accepted: 30_119,
      pushes_retried: 412,
      pushes_refused: 6,
      pushes_given_up: 9,
      api_requests: 188_430,
      api_errors: 1_204,
      api_dropped: 120,
    },
    events: [
      {
        at: NOW - 14_000,
        level: 'warn',
        event: 'upstream-filter-unconfirmed',
        msg: 'The APRS-IS server answered neither of two filter changes. The sidecar assumes that they took effect, and logs in again after each change to make sure. To avoid these logins, set aprsis.host to another server.',
        detail: 'server: T2TEST',
        times: 1,
      },
      {
        at: NOW - 1_140_000,
        level: 'error',
        event: 'push-refused',
        msg: 'A push gateway refused a notification for good.',
        detail: `station: N1CALL-7 · platform: android · token: …f00baa · reason: ${HOSTILE}`,
        times: 1,
      },
      {
        at: NOW - 1_320_000,
        level: 'warn',
        event: 'push-gateway-failing',
        msg: 'A push gateway fails; notifications are tried again.',
        detail: 'platform: ios · reason: no answer within 10 s',
        times: 14,
      },
    ],
    ...changes,
  }
}
