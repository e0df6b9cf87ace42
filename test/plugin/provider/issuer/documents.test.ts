import { expect } from 'chai'
import type { Fetch } from '../../../../plugin/provider/http/limited-fetch.ts'
import { createDocuments } from '../../../../plugin/provider/issuer/documents.ts'

interface Asked {
  readonly issuer: string
  answer(status?: number): void
}

/** An IdP at every address, which answers when it is told to. */
function slowIdp() {
  const asked: Asked[] = []
  const fetch: Fetch = (address) =>
    new Promise((resolve) => {
      const issuer = new URL(address).origin
      const answer = (status = 200) =>
        resolve(Response.json({ issuer, authorization_endpoint: `${issuer}/auth` }, { status }))
      asked.push({ issuer, answer })
    })
  return { asked, fetch }
}

describe('the discovery documents of many domains', () => {
  it('are asked for once where domains share an issuer, and all of them get the outcome', async () => {
    const documents = createDocuments()
    const { asked, fetch } = slowIdp()
    const all = Array.from({ length: 1000 }, () => documents('https://idp.test', fetch))
    await settled()
    expect(asked).to.have.length(1)
    asked[0]?.answer()
    for (const { issuer } of await Promise.all(all)) expect(issuer).to.equal('https://idp.test')
  })

  it('are asked for anew by whoever asks after the answer, or by another way', async () => {
    const documents = createDocuments()
    const [one, other] = [slowIdp(), slowIdp()]
    const first = documents('https://idp.test', one.fetch)
    const withCertificate = documents('https://idp.test', other.fetch)
    await settled()
    expect([one.asked.length, other.asked.length]).to.deep.equal([1, 1])
    one.asked[0]?.answer(503)
    other.asked[0]?.answer()
    expect(await first.catch((error: unknown) => error)).to.be.instanceOf(Error)
    expect((await withCertificate).issuer).to.equal('https://idp.test')
    const again = documents('https://idp.test', one.fetch)
    await settled()
    one.asked[1]?.answer()
    expect((await again).issuer).to.equal('https://idp.test')
  })
})

/** All that follows from what is there has happened. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
