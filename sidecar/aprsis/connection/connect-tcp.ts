import { connect } from 'node:net'
import type { Duplex } from 'node:stream'

/** Opens a connection. Returns a stream that emits `connect` once it is open, and ends when the server ends it. */
export type Connect = (to: { readonly host: string; readonly port: number }) => Duplex

/**
 * Milliseconds for each address of a host except the last one. The default of Node.js, 250 ms, is less than a round
 * trip by satellite.
 */
const ADDRESS_TIMEOUT_MS = 2500

/**
 * Connects over TCP. Resolves the host name at each call, because rotate.aprs2.net resolves to a different server each
 * time.
 */
export const connectTcp: Connect = ({ host, port }) =>
  connect({
    host,
    port,
    autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
  })
