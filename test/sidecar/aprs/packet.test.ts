import { expect } from 'chai'
import { parsePacket } from '../../../sidecar/aprs/packet.ts'

/** Returns the packet in a line, with the text of its body. */
function parse(line: string) {
  const packet = parsePacket(line)
  return packet && { ...packet, body: line.slice(packet.bodyAt) }
}

describe('A packet line', () => {
  it('splits a packet line into source, path and body', () => {
    expect(parse('N0CALL-7>APRS,TCPIP*,qAC,SERVER::B        :text:{12')).to.include({
      source: 'N0CALL-7',
      body: ':B        :text:{12',
    })
    expect(parse('A>APRS:')).to.include({ source: 'A', body: '' })
  })

  it('the source of a packet is in upper case, and SSID 0 is removed', () => {
    expect(parse('z0call-0>APRS:>status')?.source).to.equal('Z0CALL')
  })

  it("keeps each byte of a packet's body as one character", () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
    const packet = parse(`A>APRS:>${bytes.toString('latin1')}`)
    expect(Buffer.from(packet!.body.slice(1), 'latin1')).to.deep.equal(bytes)
  })

  for (const line of [
    '',
    '>APRS:body',
    'A>:body',
    'A>APRS',
    'A:body',
    '# aprsc 2.1.21',
    'ABCDEFGHIJ>APRS:body',
    'A B>APRS:body',
    '-A>APRS:body',
    'A\r\nB>APRS:body',
    'Ä>APRS:body',
  ]) {
    it(`${JSON.stringify(line)} is not a packet`, () => {
      expect(parse(line)).to.equal(undefined)
    })
  }
})

describe('A third-party frame', () => {
  // Shows: sidecar 7.1, C4.10, F1.14.
  it('the source of a third-party frame is the inner source', () => {
    expect(parse('GATE>APRS,TCPIP*,qAC,S:}n0call-9>APK004,WIDE1-1,GATE*::B        :hi{1')).to.include({
      source: 'N0CALL-9',
      body: ':B        :hi{1',
    })
  })

  it('parses a third-party frame inside a third-party frame', () => {
    expect(parse('G1>APRS:}G2>APRS,TCPIP,G1*:}A>APRS,G2*::B        :hi')).to.include({
      source: 'A',
      body: ':B        :hi',
    })
  })

  it('a third-party frame without a packet inside it is not a packet', () => {
    expect(parse('G1>APRS:}')).to.equal(undefined)
    expect(parse('G1>APRS:}:B        :hi')).to.equal(undefined)
  })

  // Shows: sidecar F1.14.
  it('refuses third-party frames nested over 8 levels deep', () => {
    const nested = (levels: number) => parse(`${'G>APRS:}'.repeat(levels)}A>APRS::B        :hi`)
    expect(nested(8)?.source).to.equal('A')
    expect(nested(9)).to.equal(undefined)
    expect(nested(500)).to.equal(undefined)
  })
})
