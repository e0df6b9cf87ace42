import { aprsParser } from 'js-aprs-fap'
import { addresseeOf, parseMessage } from '../../sidecar/aprs/message.ts'
import { parsePacket } from '../../sidecar/aprs/packet.ts'
import { lineSplitter, MAX_LINE_BYTES } from '../../sidecar/aprsis/protocol/lines.ts'
import { alternate, beside, type Measurement } from './measurement.ts'

const MOST_WINDOWS = 15
const WINDOW_MS = 300

const PATHS = [
  'APRS,TCPIP*,qAC,T2FINLAND',
  'APDR16,TCPIP*,qAC,T2SPAIN',
  'APY05D,DB0ABC*,WIDE2-1,qAR,DL1ABC-10',
  'APK004,WIDE1-1,WIDE2-2,qAO,N0GATE-1',
  'APAT81,N1ABC-3*,WIDE2*,qAR,N1GATE',
]
const TEXTS = [
  'QSL',
  'Good morning, are you there?',
  'I am on 145.500 until eight, then on the way home over the pass',
  '73 de the whole crew at the summit, we heard you with five nine on both repeaters',
]
const NUMBERS = ['', '{1', '{42', '{00123', '{AB}', '{AB}CD']

/** Maximum number of bytes that one read from a socket returns. */
const READ_BYTES = 65_536

const parser = new aprsParser()

/**
 * `packets.parse`: parsed message lines per second. Ours gets chunks as from a socket. The peer gets lines that were
 * split and decoded outside of the measured time.
 */
export async function packetsBench(): Promise<Measurement> {
  const lines = messageLines()
  const chunks = chunksOf(lines)
  const split = lineSplitter(MAX_LINE_BYTES, () => {})
  const parseOurs = (line: string) => {
    const packet = parsePacket(line)
    const addressee = packet && addresseeOf(packet)
    const message = addressee && parseMessage(packet.line, addressee)
    return message?.kind === 'message' ? message.text.length : 0
  }
  const parsePeers = (line: string) => parser.parseaprs(line).message?.length ?? 0
  // Ensures that both parsers understand each line, because rejecting a line would be fast.
  for (const line of lines) {
    if (parseOurs(line) === 0 || parsePeers(line) === 0) throw new Error(`A side did not read ${line}`)
  }
  const allOurs = () => {
    let characters = 0
    for (const chunk of chunks) for (const line of split(chunk)) characters += parseOurs(line)
    return characters
  }
  const allPeers = () => {
    let characters = 0
    for (const line of lines) characters += parsePeers(line)
    return characters
  }
  const sides = await alternate(MOST_WINDOWS, {
    ours: () => linesPerSecond(lines.length, allOurs),
    peer: () => linesPerSecond(lines.length, allPeers),
  })
  const peerName = 'js-aprs-fap, which cuts and decodes no lines'
  return beside('packets.parse', 'lines/s', sides, peerName)
}

/** Returns the lines as chunks, as reads from a socket return them. */
function chunksOf(lines: readonly string[]): readonly Buffer[] {
  const stream = Buffer.from(lines.map((line) => `${line}\r\n`).join(''), 'latin1')
  const chunks: Buffer[] = []
  for (let start = 0; start < stream.length; start += READ_BYTES)
    chunks.push(stream.subarray(start, start + READ_BYTES))
  return chunks
}

/**
 * Returns message lines as a `g/` filter passes them: all combinations of path, text and number, ten times, with
 * changing stations.
 */
function messageLines(): string[] {
  const lines: string[] = []
  for (const path of Array.from({ length: 10 }, () => PATHS).flat()) {
    for (const text of TEXTS) {
      for (const number of NUMBERS) {
        const source = `N${lines.length % 10}CALL-${(lines.length % 15) + 1}`
        const addressee = `OH${lines.length % 9}AB${lines.length % 2 === 0 ? '' : '-7'}`
        lines.push(`${source}>${path}::${addressee.padEnd(9)}:${text}${number}`)
      }
    }
  }
  return lines
}

/**
 * Returns the lines per second of `parse`, which parses `count` lines and returns a number that depends on all of them.
 */
function linesPerSecond(count: number, parse: () => number): number {
  let parsed = 0
  // The sum prevents the optimizer from removing the work.
  let characters = 0
  const start = performance.now()
  let elapsedMs = 0
  while (elapsedMs < WINDOW_MS) {
    characters += parse()
    parsed += count
    elapsedMs = performance.now() - start
  }
  if (characters === 0) throw new Error('Nothing was parsed.')
  return (parsed / elapsedMs) * 1000
}
