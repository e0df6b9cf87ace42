import { expect } from 'chai'
import type { Fetch } from '../../../../plugin/provider/http/limited-fetch.ts'
import { createDocuments } from '../../../../plugin/provider/issuer/documents.ts'

interface PendingRequest {
  readonly issuer: string
  answer(status?: number): void
}

/** An IdP at every address. Its requests wait until the test calls `answer`. */
function slowIdp() {
  const requests: PendingRequest[] = []
  const fetch: Fetch = (address) =>
    new Promise((resolve) => {
      const issuer = new URL(address).origin
      const answer = (status = 200) =>
        resolve(Response.json({ issuer, authorization_endpoint: `${issuer}/auth` }, { status }))
      requests.push({ issuer, answer })
    })
  return { requests, fetch }
}

describe('discovery documents of many domains', () => {
  it('domains with the same issuer and fetch function share a discovery request', async () => {
    const documents = createDocuments()
    const { requests, fetch } = slowIdp()
    const all = Array.from({ length: 1000 }, () => documents('https://idp.test', fetch))
    await settled()
    expect(requests).to.have.length(1)
    requests[0]?.answer()
    for (const { issuer } of await Promise.all(all)) expect(issuer).to.equal('https://idp.test')
  })

  it('requests discovery again after the IdP answered, or for another fetch function', async () => {
    const documents = createDocuments()
    const [first, second] = [slowIdp(), slowIdp()]
    const firstDocument = documents('https://idp.test', first.fetch)
    const withCertificate = documents('https://idp.test', second.fetch)
    await settled()
    expect(first.requests).to.have.length(1)
    expect(second.requests).to.have.length(1)
    first.requests[0]?.answer(503)
    second.requests[0]?.answer()
    expect(await firstDocument.catch((error: unknown) => error)).to.be.instanceOf(Error)
    expect((await withCertificate).issuer).to.equal('https://idp.test')
    const nextDocument = documents('https://idp.test', first.fetch)
    await settled()
    first.requests[1]?.answer()
    expect((await nextDocument).issuer).to.equal('https://idp.test')
  })
})

/** Resolves after all immediate consequences. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
