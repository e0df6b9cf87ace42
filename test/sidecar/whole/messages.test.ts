import { expect } from 'chai'
import { startWholeSidecar, type WholeSidecar } from '../../support/whole-sidecar.ts'

describe('A sidecar that receives messages', () => {
  let its: WholeSidecar
  beforeEach(async () => {
    its = await startWholeSidecar()
  })
  afterEach(() => its.close())

  it('gives the text to the byte, as UTF-8 or with its bytes beside it', async () => {
    await its.register('N0CALL')
    // Every byte but the two that end a line.
    const bytes = Buffer.from([...Array(256).keys()].filter((byte) => byte !== 10 && byte !== 13))
    const blanks = '  Grüße {an} alle \t '
    await its.receive('N1CALL', 'N0CALL-7', Buffer.concat([bytes, Buffer.from('{7')]))
    await its.receive('N1CALL', 'N0CALL-7', `${blanks}{8`)
    const shown = { from: 'N1CALL', to: 'N0CALL-7' }
    expect(await its.messages('N0CALL')).to.deep.equal([
      { ...shown, seqId: '7', text: bytes.toString('latin1'), textBytes: bytes.toString('base64') },
      { ...shown, seqId: '8', text: blanks },
    ])
  })
})
