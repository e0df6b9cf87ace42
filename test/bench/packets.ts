import { aprsParser } from 'js-aprs-fap'
import { parseMessage } from '../../sidecar/aprs/message.ts'
import { parsePacket } from '../../sidecar/aprs/packet.ts'
import { alternate, type Measurement } from './measurement.ts'

const ROUNDS = 7
const ROUND_MS = 300

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

/**
 * Message lines per second from the socket's bytes to a parsed message. Each side is given what it wants: ours the
 * bytes, the peer a string that was decoded outside of the measured time.
 */
export async function packetsBench(): Promise<Measurement> {
  const texts = messageLines()
  const lines = texts.map((text) => Buffer.from(text, 'latin1'))
  const parser = new aprsParser()

  const parseOurs = (line: Buffer) => {
    const packet = parsePacket(line)
    const message = packet && parseMessage(packet)
    return message?.kind === 'message' ? message.text.length : 0
  }
  const parsePeers = (text: string) => parser.parseaprs(text).message?.length ?? 0
  // Whoever gives up on a line would be fast with it.
  for (const [i, line] of lines.entries()) {
    if (parseOurs(line) === 0 || parsePeers(texts[i] as string) === 0)
      throw new Error(`A side did not read ${texts[i]}`)
  }

  const { ours, peer } = await alternate(
    ROUNDS,
    () => linesPerSecond(lines, parseOurs),
    () => linesPerSecond(texts, parsePeers),
  )
  return { name: 'packets.parse', unit: 'lines/s', ours, peer, peerName: 'js-aprs-fap', ratio: ours / peer }
}

/** Every path with every text and number, between changing stations: what a `g/` filter lets through. */
function messageLines(): string[] {
  const lines: string[] = []
  for (const path of PATHS) {
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

function linesPerSecond<T>(lines: readonly T[], parse: (line: T) => number): number {
  let parsed = 0
  // Summed up, so that no optimiser can leave the work out.
  let characters = 0
  const start = performance.now()
  let elapsedMs = 0
  while (elapsedMs < ROUND_MS) {
    for (const line of lines) characters += parse(line)
    parsed += lines.length
    elapsedMs = performance.now() - start
  }
  if (characters === 0) throw new Error('Nothing was parsed.')
  return (parsed / elapsedMs) * 1000
}
