import { expect } from 'chai'
import { ReadAnswer } from '../../../../plugin/provider/http/read-answer.ts'

const bytes = (text: string) => new Uint8Array(Buffer.from(text))
const form = { status: 200, headers: { 'content-type': 'application/x-www-form-urlencoded' } }
/** With a byte order mark, which is no part of the text. */
const answer = () => new ReadAnswer(bytes('\uFEFFa=ö'), form)

describe('an answer whose body is here', () => {
  it('gives its body as any other one, in each way', async () => {
    const platform = () => new Response(bytes('\uFEFFa=ö'), form)
    expect(await answer().text()).to.equal(await platform().text())
    expect(await answer().arrayBuffer()).to.deep.equal(await platform().arrayBuffer())
    expect(await (await answer().blob()).text()).to.equal(await (await platform().blob()).text())
    expect([...(await answer().formData())]).to.deep.equal([...(await platform().formData())])
    expect(await new ReadAnswer(bytes('{"a":1}'), {}).json()).to.deep.equal({ a: 1 })
  })

  it('gives its body once, and a copy only before that', async () => {
    const one = answer()
    const copy = one.clone()
    expect(one.bodyUsed).to.equal(false)
    await one.text()
    expect([one.bodyUsed, copy.bodyUsed]).to.deep.equal([true, false])
    for (const again of [one.text, one.json, one.arrayBuffer, async () => one.clone()]) {
      const error: unknown = await again().then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      expect(error).to.be.instanceOf(TypeError)
    }
    expect([copy.status, copy.headers.get('content-type'), await copy.text()]).to.deep.equal([
      200,
      'application/x-www-form-urlencoded',
      'a=ö',
    ])
  })

  it('has no body where its status allows none', async () => {
    for (const status of [204, 205, 304]) expect(await new ReadAnswer(bytes('x'), { status }).text()).to.equal('')
  })
})
