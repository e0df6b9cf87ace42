import { expect } from 'chai'
import fc from 'fast-check'
import { addresseeOf, parseMessage } from '../../../sidecar/aprs/message.ts'
import { parsePacket } from '../../../sidecar/aprs/packet.ts'

const HEADER = /^([A-Za-z0-9][A-Za-z0-9-]{0,8})>[^:]+:/
const ADDRESSEE = /^:([\x20-\x39\x3b-\x7e]{0,9}):/
const NUMBER = /\{([0-9A-Za-z]{1,5}(?:\}[0-9A-Za-z]{0,5})?)$/
const PADDING = /[\0-\x20\x7f]*$/
const ANSWER = /^(ack|rej)(?=[^}]*[0-9A-Z])([0-9A-Za-z]{1,5}(?:\}[0-9A-Za-z]{0,5})?)$/
const DEFINITION = /^(?:PARM|UNIT|EQNS|BITS)\./
const QUERY = /^\?(?:APRSH(?: .*|(?=[A-Z]*\d)[A-Z\d-]{1,9} *)?|APRS[DMOPST] *|PING\? *)$/

const keyOf = (name: string) => name.toUpperCase().replace(/-0$/, '')

/** The grammar of a line as regular expressions: slow but obvious. */
function byGrammar(line: string, depth = 0): object | undefined {
  const [header, sourceAsReceived] = HEADER.exec(line) ?? []
  if (header === undefined || sourceAsReceived === undefined) return undefined
  const body = line.slice(header.length)
  if (body.startsWith('}')) return depth < 8 ? byGrammar(body.slice(1), depth + 1) : undefined
  const packet = { source: keyOf(sourceAsReceived), sourceAsReceived }
  const [head, addressee = ''] = ADDRESSEE.exec(body) ?? []
  const to = keyOf(addressee.trimEnd())
  return head === undefined || to === '' ? packet : { ...packet, ...messageOf(to, body.slice(head.length)) }
}

function messageOf(to: string, field: string) {
  const content = field.replace(PADDING, '')
  const [tail = '', seqId] = NUMBER.exec(content) ?? []
  const text = content.slice(0, content.length - tail.length)
  if (text === '' && seqId === undefined) return { kind: 'not_for_operator', to, why: 'empty' }
  if (DEFINITION.test(text)) return { kind: 'not_for_operator', to, why: 'telemetry_definition' }
  if (QUERY.test(text)) return { kind: 'not_for_operator', to, why: 'query' }
  const [, word, answered] = ANSWER.exec(text) ?? []
  if (word !== undefined && seqId === undefined)
    return { kind: word === 'ack' ? 'ack' : 'rejection', to, seqId: answered }
  return { kind: 'message', to, text: seqId === undefined ? field : text, seqId: seqId ?? '' }
}

function read(line: string) {
  const packet = parsePacket(line)
  if (!packet) return undefined
  const { source, sourceAsReceived } = packet
  const addressee = addresseeOf(packet)
  return { source, sourceAsReceived, ...(addressee && parseMessage(packet.line, addressee)) }
}

describe('The parser of lines from APRS-IS', () => {
  it('parses any line as the APRS grammar specifies', () => {
    const choice = (...parts: string[]) => fc.constantFrom(...parts)
    const stations = choice('A', 'n0call-7', 'N0CALL-0', 'B', 'ABCDEF-12')
    const calls = fc.oneof(stations, choice('-0', 'ABCDEFGHIJ', 'ä', 'ß', 'B C', 'B{1', ''))
    const headers = fc
      .tuple(
        calls,
        choice('>', '>', '>', '>', '>', '>', '', '>>'),
        choice('APRS', 'APRS', 'APRS,TCPIP*,qAC,S', ''),
        choice(':', ':', ':', ':', ':', ''),
      )
      .map((parts) => parts.join(''))
    const paddings = choice('', '', '', '', ' ', '   ', '\0', '\r', '\x7f', '\x1c ')
    const beginnings = choice('ack', 'rej', '?APRSD', '?APRSH', '?APRSHN0CALL', '?PING?', 'PARM.', 'BITS.')
    const fields = fc.array(fc.oneof(beginnings, choice(...'{}1z :\xff\n', 'AB', 'hi')), { maxLength: 6 })
    const messages = fc
      .tuple(
        choice(':', ':', ':', ':', ':', '>'),
        calls,
        paddings,
        choice(':', ':', ':', ':', ':', ''),
        fields,
        paddings,
      )
      .map(([first, to, padding, second, field, end]) => [first, to, padding, second, ...field, end].join(''))
    const wrapped = fc.array(headers, { maxLength: 10 }).map((outer) => outer.map((header) => `${header}}`).join(''))
    const lines = fc
      .tuple(fc.oneof({ weight: 3, arbitrary: fc.constant('') }, wrapped), headers, messages)
      .map((parts) => parts.join(''))
    let messagesRead = 0
    fc.assert(
      fc.property(lines, (line) => {
        const match = read(line)
        if (match && 'kind' in match) messagesRead += 1
        expect(match).to.deep.equal(byGrammar(line))
      }),
      { numRuns: 5000 },
    )
    expect(messagesRead).to.be.above(100)
  })
})
