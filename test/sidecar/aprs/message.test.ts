import { expect } from 'chai'
import fc from 'fast-check'
import { ackLine, addresseeOf, parseMessage, textOf } from '../../../sidecar/aprs/message.ts'
import { parsePacket } from '../../../sidecar/aprs/packet.ts'

function parse(body: string | Buffer, source = 'A') {
  return parseLine(`${source}>APRS,TCPIP*,qAC,S:${Buffer.from(body).toString('latin1')}`)
}

/** The message in a line, its text as bytes. */
function parseLine(line: string) {
  const packet = parsePacket(line)
  const addressee = packet && addresseeOf(packet)
  const message = addressee && parseMessage(packet.line, addressee)
  return message?.kind === 'message' ? { ...message, text: Buffer.from(message.text, 'latin1') } : message
}

/** Parses a message to station B with this text field. Returns its text and number. */
function read(field: string | Buffer) {
  const message = parse(Buffer.concat([Buffer.from(':B        :'), Buffer.from(field)]))
  if (message?.kind !== 'message') return message?.kind
  return { text: message.text.toString(), seqId: message.seqId }
}

describe('The addressee of a message', () => {
  for (const [body, to] of [
    [':N0CALL-7 :hi', 'N0CALL-7'],
    [':ABCDEF-12:hi', 'ABCDEF-12'],
    [':B:hi', 'B'],
    [':n0call   :hi', 'N0CALL'],
    [':N0CALL-0 :hi', 'N0CALL'],
    [':!~:hi', '!~'],
  ] as const) {
    // Shows: sidecar C4.30, F1.5, F1.9.
    it(`the addressee of "${body}" is ${to}`, () => {
      expect(parse(body)).to.include({ kind: 'message', to })
    })
  }

  for (const body of ['', '::hi', ':ABCDEFGHIJ:hi', ':B', '>status', ':B\0:hi', ':Aß:hi']) {
    it(`${JSON.stringify(body)} is not a message`, () => {
      expect(parse(body)).to.equal(undefined)
    })
  }
})

describe('The sequence id of a message', () => {
  for (const [field, text, seqId] of [
    ['text{12', 'text', '12'],
    ['text{12345', 'text', '12345'],
    ['text{12   ', 'text', '12'],
    ['text{AB}', 'text', 'AB}'],
    ['text{AB}CD', 'text', 'AB}CD'],
    ['a{1{2', 'a{1', '2'],
    ['{12', '', '12'],
    ['text{3677}67392', 'text', '3677}67392'],
    ['text{42}f001', 'text', '42}f001'],
    ['text{10512}', 'text', '10512}'],
    ['text{12\x1c', 'text', '12'],
    ['text{12 \r \0 ', 'text', '12'],
  ] as const) {
    // Shows: sidecar 17.4, C4.2, C4.5, C4.25, F1.18.
    it(`the sequence id of ${JSON.stringify(field)} is ${JSON.stringify(seqId)}`, () => {
      expect(read(field)).to.deep.equal({ text, seqId })
    })
  }

  for (const field of [
    'text',
    'text  ',
    'text{123456',
    'text{',
    'a{1{234567',
    'text{1\r2',
    'text{1 2',
    'look {at it',
    'text{é',
    'text \x1c\x7f ',
    'nice to hear you :-{)',
    'set {"a"}',
    'text{!"#$%',
    'text{1}2}3',
    'text{1}234567',
    'text{123456}1',
    'text{}1',
  ]) {
    // Shows: sidecar C4.3, C4.4, C4.24, F1.18.
    it(`parses ${JSON.stringify(field)} as text without a sequence id`, () => {
      expect(read(field)).to.deep.equal({ text: field, seqId: '' })
    })
  }
})

describe('The text of a message', () => {
  it("finds the start of a message's text even if the addressee contains a brace", () => {
    expect(parse(':B{1:x')).to.deep.include({ kind: 'message', to: 'B{1', text: Buffer.from('x'), seqId: '' })
  })

  // Shows: sidecar C4.6.
  it('any message text is returned byte for byte as its sender composed it', () => {
    const texts = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes))
    const number = fc.stringMatching(/^[AZaz09]{1,5}(?:\}[AZaz09]{0,5})?$/)
    fc.assert(
      fc.property(texts, number, fc.nat(3), (text, seqId, blanks) => {
        fc.pre(!/^(?:\?|PARM\.|UNIT\.|EQNS\.|BITS\.)/.test(text.toString('latin1')))
        const tail = Buffer.from(`{${seqId}${' '.repeat(blanks)}`)
        const message = parse(Buffer.concat([Buffer.from(':B        :'), text, tail]))
        expect(message).to.deep.equal({ kind: 'message', to: 'B', text, seqId })
      }),
      { numRuns: 1000 },
    )
  })

  it('decodes a message text as UTF-8, including a byte order mark', () => {
    expect(textOf(Buffer.from('Grüße 😀'))).to.deep.equal({ text: 'Grüße 😀' })
    expect(textOf(Buffer.from('\ufeffhi'))).to.deep.equal({ text: '\ufeffhi' })
  })

  it('decodes a message text that is not UTF-8 as Latin-1, and keeps its bytes', () => {
    const bytes = Buffer.concat([Buffer.from('ü '), Buffer.from([0xfc, 0x80])])
    expect(textOf(bytes)).to.deep.equal({ text: 'Ã¼ ü\u0080', textBytes: bytes.toString('base64') })
  })

  // Shows: sidecar C4.7.
  it('any message text can be converted back to its bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (octets) => {
        const bytes = Buffer.from(octets)
        const { text, textBytes } = textOf(bytes)
        expect(textBytes === undefined ? Buffer.from(text) : Buffer.from(textBytes, 'base64')).to.deep.equal(bytes)
      }),
    )
  })
})

describe('An ack or a rejection', () => {
  for (const [field, kind, seqId] of [
    ['ack12', 'ack', '12'],
    ['ack12345', 'ack', '12345'],
    ['ackAB}CD', 'ack', 'AB}CD'],
    ['ack3677}67392', 'ack', '3677}67392'],
    ['ack1  ', 'ack', '1'],
    ['rej12', 'rejection', '12'],
    ['rejAB}CD ', 'rejection', 'AB}CD'],
  ] as const) {
    it(`parses ${JSON.stringify(field)} as ${kind}`, () => {
      expect(parse(`:B        :${field}`)).to.deep.equal({ kind, to: 'B', seqId })
    })
  }

  for (const field of [
    'ack',
    'acked',
    'ackab',
    'ack#1',
    'ack123456',
    'ack1}abcdef',
    'ack}1',
    'reject',
    'ack 12',
    'Ack12',
    'acké',
    'ack1\x002',
  ]) {
    it(`parses ${JSON.stringify(field)} as text, not as an ack`, () => {
      expect(read(field)).to.deep.equal({ text: field, seqId: '' })
    })
  }

  it('"acked{12" and "reject{12" are messages, not acks or rejections', () => {
    expect(read('acked{12')).to.deep.equal({ text: 'acked', seqId: '12' })
    expect(read('reject{12')).to.deep.equal({ text: 'reject', seqId: '12' })
  })
})

describe('A telemetry definition', () => {
  for (const field of ['PARM.Battery,Btemp', 'UNIT.Volts', 'EQNS.0,5.2,0', 'BITS.10110000,Title', 'PARM.A{12']) {
    for (const source of ['N0CALL-7', 'N1CALL']) {
      // Shows: sidecar C4.11.
      it(`${field} from ${source} to N0CALL-7 is not for the station's operator`, () => {
        expect(parse(`:N0CALL-7 :${field}`, source)).to.deep.equal({
          kind: 'not_for_operator',
          to: 'N0CALL-7',
          why: 'telemetry_definition',
        })
      })
    }
  }

  for (const field of ['PARMESAN', 'Units?', 'parm.x', 'see PARM.x', 'BPARM.x', 'UNIT', 'EQNS', 'BITS and pieces']) {
    // Shows: sidecar F1.20.
    it(`parses "${field}" as text, not as a telemetry definition`, () => {
      expect(read(field)).to.deep.equal({ text: field, seqId: '' })
    })
  }
})

describe('An empty message text', () => {
  for (const field of ['', '   ', '\0', ' \r\x1c']) {
    it(`${JSON.stringify(field)} without a sequence id is not for the station's operator`, () => {
      expect(parse(`:N0CALL-7 :${field}`)).to.deep.equal({ kind: 'not_for_operator', to: 'N0CALL-7', why: 'empty' })
    })
  }

  // Shows: sidecar C4.11.
  it('an empty text with a sequence id is a message, because its sender expects an ack', () => {
    expect(read('{12')).to.deep.equal({ text: '', seqId: '12' })
  })
})

describe('A directed query', () => {
  for (const query of ['?APRSD', '?APRSH', '?APRSM', '?APRSO', '?APRSP', '?APRSS', '?APRST', '?PING?']) {
    // Shows: sidecar F1.20.
    it(`${query} is not for the station's operator, even with a sequence id or spaces`, () => {
      for (const field of [query, `${query}   `, `${query}{12`]) {
        expect(parse(`:B        :${field}`)).to.deep.equal({ kind: 'not_for_operator', to: 'B', why: 'query' })
      }
    })
  }

  for (const query of [
    '?APRSH N0CALL   ',
    '?APRSHN0CALL',
    '?APRSHN1CALL-9 ',
    '?APRSH4X1AB',
    '?APRSHDL1ABC',
    '?APRSHN0CALL{1',
  ]) {
    // Shows: sidecar F1.20.
    it(`parses ${JSON.stringify(query)} as a query about a heard station`, () => {
      expect(read(query)).to.equal('not_for_operator')
    })
  }

  for (const field of ['?', '?APRS?', '?APRSDay', '?APRSHow', 'what is ?APRSD', '?aprsd']) {
    it(`parses "${field}" as text, not as a query`, () => {
      expect(read(field)).to.deep.equal({ text: field, seqId: '' })
    })
  }
})

describe('The ack of a message', () => {
  // Shows: sidecar F1.19.
  it('an ack goes from the addressee to the sender, with the sequence id as received', () => {
    expect(ackLine({ from: 'A', to: 'B', seqId: '12' })).to.equal('B>APRS,TCPIP*::A        :ack12')
    expect(ackLine({ from: 'ABCDEF-12', to: 'N0CALL-7', seqId: 'AB}CD' })).to.equal(
      'N0CALL-7>APRS,TCPIP*::ABCDEF-12:ackAB}CD',
    )
  })

  it('an ack to W2AW-0 keeps the SSID, because servers distinguish it from W2AW', () => {
    expect(ackLine({ from: 'W2AW-0', to: 'B', seqId: '1' })).to.equal('B>APRS,TCPIP*::W2AW-0   :ack1')
  })

  // Shows: sidecar C4.26, F1.19.
  it("the ack of any numbered message is one line with the message's sequence id", () => {
    const tails = fc.oneof(
      fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 8 }),
      fc.string({ unit: fc.constantFrom('1', 'A', '}', '{', ' ', 'é', '\0', '\x1c', '\x7f'), maxLength: 12 }),
      fc.string({ unit: fc.constantFrom('1', 'A', 'z', '}'), maxLength: 12 }),
    )
    let numbered = 0
    fc.assert(
      fc.property(tails, (tail) => {
        const message = parse(`:B        :text{${tail}`)
        if (message?.kind !== 'message' || message.seqId === '') return
        numbered += 1
        const line = ackLine({ from: 'A', to: message.to, seqId: message.seqId })
        expect(line).to.match(/^[\x20-\x7e]+$/)
        const form = /^(?=[^}]*[0-9A-Z])[0-9A-Za-z]{1,5}(\}[0-9A-Za-z]{0,5})?$/
        const expected = form.test(message.seqId) ? { kind: 'ack', seqId: message.seqId } : { kind: 'message' }
        expect(parseLine(line)).to.deep.include({ ...expected, to: 'A' })
      }),
      { numRuns: 3000 },
    )
    expect(numbered).to.be.above(100)
  })
})
