import { expect } from 'chai'
import { ackLine, addresseeOf, parseMessage, textOf } from '../../../sidecar/aprs/message.ts'
import { parsePacket } from '../../../sidecar/aprs/packet.ts'
import { pure } from '../target.ts'

const SAMPLES = [
  'N9CALL>APRS,TCPIP*,qAC,T2TEST::N0CALL-7 :Good morning{12',
  'N9CALL-0>APRS,qAR,GATE::N0CALL   :Hello{AB}CD',
  'N9CALL>APRS::N0CALL-7 :ack12',
  'N9CALL>APRS::N0CALL-7 :rej12}',
  'N9CALL>APRS::N9CALL   :PARM.A,B,C',
  'N9CALL>APRS::N0CALL-7 :long{3677}67392',
  'N9CALL>APRS::N0CALL-7 :?APRSD',
  'GATE>APGATE,TCPIP*:}N9CALL>APRS,TCPIP,GATE*::N0CALL-7 :inside{1',
  'N9CALL>APRS:!5000.00N/00800.00E-',
  'N9CALL>APRS::N0CALL-7 :Grüße {é',
]

/** Lines from APRS-IS: everything parsed from a line is safe to store, to show and to answer. */
export const packets = pure('packets', SAMPLES, (bytes) => {
  const line = bytes.toString('latin1')
  const packet = parsePacket(line)
  if (!packet) return
  expect(packet.source).to.match(/^[A-Z0-9][A-Z0-9-]{0,8}$/)
  const addressee = addresseeOf(packet)
  if (!addressee) return
  const message = parseMessage(line, addressee)
  expect(message.to).to.match(/^[ -~]{1,9}$/)
  if (message.kind !== 'message') return
  const { to, text, seqId } = message
  expect(line.includes(text)).to.equal(true)
  expect([...seqId]).to.have.length.at.most(11)
  const sent = Buffer.from(text, 'latin1')
  const shown = textOf(sent)
  expect(
    Buffer.from(shown.textBytes ?? shown.text, shown.textBytes === undefined ? 'utf8' : 'base64').equals(sent),
  ).to.equal(true)
  expect(ackLine({ from: packet.source, to, seqId })).to.not.match(/\p{Cc}/u)
})
