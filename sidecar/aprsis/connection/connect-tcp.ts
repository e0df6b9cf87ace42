import { connect } from 'node:net'
import type { Duplex } from 'node:stream'

/** Opens a connection: a stream that emits `connect` once it is there, and ends when the other side does. */
export type Connect = (to: { readonly host: string; readonly port: number }) => Duplex

/** The name is looked up anew each time: rotate.aprs2.net hands out another server. */
export const connectTcp: Connect = ({ host, port }) =>
  connect({
    host,
    port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
  })
