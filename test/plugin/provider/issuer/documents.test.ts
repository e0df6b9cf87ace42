import { expect } from 'chai'
import { LoginError } from '../../../../plugin/errors.ts'
import type { Fetch } from '../../../../plugin/provider/http/limited-fetch.ts'
import { openIssuer } from '../../../../plugin/provider/issuer/discovery.ts'
import { createDocuments, type Documents } from '../../../../plugin/provider/issuer/documents.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

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

const issuers = (count: number) => Array.from({ length: count }, (_, at) => `https://idp${at}.test`)

describe('the discovery documents of many domains', () => {
  it('are asked for once where domains share an issuer, and all of them get the outcome', async () => {
    const documents = createDocuments()
    const { asked, fetch } = slowIdp()
    const all = Array.from({ length: 1000 }, () => documents.ask('https://idp.test', fetch).document)
    await settled()
    expect(asked).to.have.length(1)
    asked[0]?.answer()
    for (const { issuer } of await Promise.all(all)) expect(issuer).to.equal('https://idp.test')
  })

  it('are asked for anew by whoever asks after the answer, or by another way', async () => {
    const documents = createDocuments()
    const [one, other] = [slowIdp(), slowIdp()]
    const first = documents.ask('https://idp.test', one.fetch).document
    const withCertificate = documents.ask('https://idp.test', other.fetch).document
    await settled()
    expect([one.asked.length, other.asked.length]).to.deep.equal([1, 1])
    one.asked[0]?.answer(503)
    other.asked[0]?.answer()
    expect(await first.catch((error: unknown) => error)).to.be.instanceOf(Error)
    expect((await withCertificate).issuer).to.equal('https://idp.test')
    const again = documents.ask('https://idp.test', one.fetch).document
    await settled()
    one.asked[1]?.answer()
    expect((await again).issuer).to.equal('https://idp.test')
  })

  it('are asked for eight at a time, the next when one is there or has failed', async () => {
    const documents = createDocuments()
    const { asked, fetch } = slowIdp()
    const all = issuers(20).map((issuer) => documents.ask(issuer, fetch).document.catch(() => undefined))
    await settled()
    expect(asked).to.have.length(8)
    asked[0]?.answer(503)
    asked[1]?.answer()
    await settled()
    expect(asked.map(({ issuer }) => issuer)).to.deep.equal(issuers(10))
    for (let at = 2; at < 20; at += 1) {
      asked[at]?.answer()
      await settled()
    }
    await Promise.all(all)
  })

  it('keep no login waiting: it does not stand in line', async () => {
    const documents = createDocuments()
    const { asked, fetch } = slowIdp()
    for (const issuer of issuers(8)) void documents.ask(issuer, fetch)
    const issuer = open(documents, fetch, 'https://wanted.test')
    await settled()
    expect(asked.map((one) => one.issuer)).to.not.include('https://wanted.test')
    const metadata = issuer.metadata()
    await settled()
    asked.find((one) => one.issuer === 'https://wanted.test')?.answer()
    expect((await metadata).authorization_endpoint).to.equal('https://wanted.test/auth')
    issuer.close()
  })

  it('are asked for no more after the end, and whoever is in line is told', async () => {
    const documents = createDocuments()
    const { asked, fetch } = slowIdp()
    const all = issuers(9).map((issuer) => documents.ask(issuer, fetch).document)
    await settled()
    documents.close()
    for (const one of asked) one.answer()
    await Promise.all(all.slice(0, 8))
    for (const late of [all[8], documents.ask('https://late.test', fetch).document]) {
      expect(await late?.catch((error: unknown) => error)).to.be.instanceOf(Error)
    }
    expect(
      await open(documents, fetch, 'https://late.test')
        .metadata()
        .catch((error: unknown) => error),
    ).to.be.instanceOf(LoginError)
    expect(asked).to.have.length(8)
  })
})

function open(documents: Documents, fetch: Fetch, issuer: string) {
  return openIssuer(
    { issuer, manual: {} },
    {
      fetch,
      documents,
      clock: new FakeClock(),
      random: Math.random,
      onFailure: () => undefined,
      onDiscovered: () => undefined,
    },
  )
}

/** All that follows from what is there has happened. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
