import { connect } from 'node:net'
import type { Duplex } from 'node:stream'

/** Opens a connection: a stream that emits `connect` once it is there, and ends when the other side does. */
export type Connect = (to: { readonly host: string; readonly port: number }) => Duplex

/**
 * Of a name with several addresses, how long each but the last one has. Node's own 250 ms are less than a round trip by
 * satellite: there no address would ever be reached where the last one is of no use, such as one of IPv6 on a line
 * without it.
 */
const ADDRESS_TIMEOUT_MS = 2500

/** The name is looked up anew each time: rotate.aprs2.net hands out another server. */
export const connectTcp: Connect = ({ host, port }) =>
  connect({
    host,
    port,
    autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
  })
