import type { HttpListener } from '../../sidecar/api/http-listener.ts'
import { systemClock } from '../../sidecar/clock.ts'
import { createLog } from '../../sidecar/log.ts'
import { createMetrics } from '../../sidecar/metrics.ts'
import { serveAdmin } from '../../sidecar/operator/server.ts'
import { StationAnswers } from '../../sidecar/operator/station-answers.ts'

/** Serves the operator's port of a sidecar without problems. `parts` replace individual values. */
export function serveOperatorPort(parts: Partial<Parameters<typeof serveAdmin>[0]> = {}): Promise<HttpListener> {
  return serveAdmin({
    admin: { host: '127.0.0.1', port: 0 },
    checkAlive: async () => {},
    checkReads: async () => {},
    obstacles: async () => [],
    statusPage: async () => '',
    stations: new StationAnswers({
      reports: { list: async () => [], get: async () => undefined },
      notify: async () => undefined,
      now: () => systemClock.now(),
    }),
    backUp: async () => ({ kind: 'off' }),
    unregister: async () => false,
    metrics: createMetrics(),
    clock: systemClock,
    log: createLog('silent'),
    ...parts,
  })
}
