import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** A DNS server on 127.0.0.1 (RFC 1035). It answers from the map `addresses`, which a test may change at any time. */
export type DnsServer = Awaited<ReturnType<typeof startDnsServer>>

const HEADER_BYTES = 12
const TYPES = { 4: 1, 6: 28 } as const
const NO_SUCH_NAME = 3

export async function startDnsServer() {
  const addresses = new Map<string, readonly string[]>()
  const socket = createSocket('udp4')
  socket.on('message', (query, { address, port }) => socket.send(answerTo(query, addresses), port, address))
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    /** Address of the server as `address:port`, for `Resolver.setServers`. */
    server: `127.0.0.1:${socket.address().port}`,
    addresses,
    close: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  }
}

function answerTo(query: Buffer, addresses: ReadonlyMap<string, readonly string[]>): Buffer {
  const { name, end } = readName(query)
  const type = query.readUInt16BE(end)
  const resolved = addresses.get(name)
  const answers = (resolved ?? []).filter((address) => TYPES[isIP(address) as 4 | 6] === type).map(record)
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt16BE(query.readUInt16BE(0), 0)
  header.writeUInt16BE(0x8180 + (resolved ? 0 : NO_SUCH_NAME), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(answers.length, 6)
  return Buffer.concat([header, query.subarray(HEADER_BYTES, end + 4), ...answers])
}

function readName(query: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = []
  let position = HEADER_BYTES
  for (let length = query.readUInt8(position++); length > 0; length = query.readUInt8(position++)) {
    labels.push(query.toString('latin1', position, position + length))
    position += length
  }
  return { name: labels.join('.').toLowerCase(), end: position }
}

/** Returns a DNS record for the requested name, with a time to live of 0. */
function record(address: string): Buffer {
  const version = isIP(address) as 4 | 6
  const data = Buffer.from(ipaddr.parse(address).toByteArray())
  const fixed = Buffer.alloc(HEADER_BYTES)
  fixed.writeUInt16BE(0xc00c, 0)
  fixed.writeUInt16BE(TYPES[version], 2)
  fixed.writeUInt16BE(1, 4)
  fixed.writeUInt16BE(data.length, 10)
  return Buffer.concat([fixed, data])
}
