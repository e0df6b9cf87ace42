import type { Status } from '../../sidecar/operator/page/status.ts'
import type { Counts } from '../../sidecar/operator/watch/history.ts'

const NOW = Date.UTC(2026, 4, 17, 14, 3, 21)
const MINUTE_MS = 60_000
const HOSTILE = '<script>alert("it\'s")</script>&amp;'

/** An hour in which a good deal went right and some things went wrong; the same each time. */
export function eventfulStatus(changes: Partial<Status> = {}): Status {
  const filter = `g/${Array.from({ length: 880 }, (_, index) => `N${index}CALL`).join('/')}`
  const login = { verified: true, server: 'T2TEST', sinceMs: NOW - 5_400_000, filter, stations: 880 }
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
        { ...login, call: 'N0CALL-10', state: 'up', bytesIn: 48_211_907, bytesOut: 1_204_455 },
        { ...login, call: 'N0CALL-A1', state: 'confirming', bytesIn: 22_018_344, bytesOut: 640_120 },
        {
          ...login,
          call: 'N0CALL-A2',
          state: 'waiting',
          server: null,
          verified: false,
          bytesIn: 9_344,
          bytesOut: 8_011,
        },
      ],
    },
    lastPacketAt: NOW - 2000,
    stations: { android: 1702, ios: 938, webpush: 0 },
    maxStations: 5000,
    gateways: [
      {
        platform: 'android',
        state: 'refusing',
        credentialsRefused: false,
        lastAcceptedAt: NOW - 1_200_000,
        lastRefused: { at: NOW - 1_140_000, reason: `FCM finds the payload invalid ${HOSTILE}` },
        lastFailed: undefined,
        waiting: 1,
      },
      {
        platform: 'ios',
        state: 'working',
        credentialsRefused: false,
        lastAcceptedAt: NOW - 4000,
        lastRefused: undefined,
        lastFailed: { at: NOW - 1_320_000, reason: 'no answer within 10 s' },
        waiting: 2,
      },
    ],
    pushesUnderWay: 3,
    databaseBytes: 34_273_280,
    shared: undefined,
    lastBackupAt: NOW - 37_000_000,
    memoryBytes: 142_000_000,
    minutes: Array.from({ length: 60 }, (_, at) => ({ startedAt: NOW - (59 - at) * MINUTE_MS, counts: countsOf(at) })),
    events: [
      {
        at: NOW - 14_000,
        level: 'warn',
        event: 'upstream-filter-unconfirmed',
        msg: 'The APRS-IS server did not confirm a filter, sent twice.',
        detail: '{"call":"N0CALL-A1"}',
        times: 1,
      },
      {
        at: NOW - 1_140_000,
        level: 'error',
        event: 'push-refused',
        msg: 'A push gateway refused a notification for good.',
        detail: `{"station":"N1CALL-7","platform":"android","token":"…f00baa","reason":"${HOSTILE}"}`,
        times: 1,
      },
      {
        at: NOW - 1_320_000,
        level: 'warn',
        event: 'push-gateway-failing',
        msg: 'A push gateway fails; notifications are tried again.',
        detail: '{"platform":"ios","reason":"no answer within 10 s"}',
        times: 14,
      },
    ],
    ...changes,
  }
}

/** Waves with some noise, and a spell in which one gateway failed. */
function countsOf(at: number): Counts {
  const noise = (at * 7919) % 23
  const stored = Math.round(60 + 40 * Math.sin(at / 9) + noise)
  const failing = at > 34 && at < 42
  return {
    lines_received: stored + (at % 7) * 6,
    messages_stored: stored,
    messages_duplicate: (at * 31) % 17,
    messages_lost: at === 50 ? 8 : 0,
    pushes_accepted: Math.round(stored * (failing ? 0.3 : 0.7)),
    pushes_retried: failing ? Math.round(stored * 0.4) : 0,
    pushes_refused: at === 40 ? 6 : 0,
    pushes_given_up: at === 41 ? 9 : 0,
    api_requests: 300 + noise * 9,
    api_errors: (at * 13) % 29,
    api_dropped: at === 12 ? 120 : 0,
  }
}
