import { connect } from 'node:net'
import type { Duplex } from 'node:stream'

/** Opens a connection. Returns a stream that emits `connect` once it is open, and ends when the server ends it. */
export type Connect = (to: { readonly host: string; readonly port: number }) => Duplex

/**
 * How long each address of a host name but the last is tried. Node.js's default of 250 ms is less than a round trip by
 * satellite. On such a line, a host would be unreachable if its last address does not work, such as an IPv6 address
 * without IPv6 routing.
 */
const ADDRESS_TIMEOUT_MS = 2500

/** Connects by TCP. Looks the name up each time, because rotate.aprs2.net resolves to another server each time. */
export const connectTcp: Connect = ({ host, port }) =>
  connect({
    host,
    port,
    autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
  })
