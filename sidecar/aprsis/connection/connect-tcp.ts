import { connect } from 'node:net'
import type { Duplex } from 'node:stream'

/** Opens a connection: a stream that emits `connect` once it is open, and ends when the other side does. */
export type Connect = (to: { readonly host: string; readonly port: number }) => Duplex

/**
 * If a host name has several addresses, how long each one but the last is tried. The default of Node.js, 250 ms, is
 * less than a round trip by satellite. There, a host would be unreachable if its last address does not work, such as an
 * IPv6 address on a line without IPv6.
 */
const ADDRESS_TIMEOUT_MS = 2500

/** Connects by TCP. Looks the name up each time, because rotate.aprs2.net leads to another server each time. */
export const connectTcp: Connect = ({ host, port }) =>
  connect({
    host,
    port,
    autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
  })
