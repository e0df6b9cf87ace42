import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { expect } from 'chai'
import { makeCertificates, makeClientCertificate } from '../../../../fixtures/certificate.ts'
import { startIdp } from '../../../../fixtures/idp/server.ts'
import { directFetch } from '../../../../plugin/provider/http/direct-fetch.ts'
import { createClientFolder } from '../../../support/client-keys.ts'
import { errorOf } from '../../../support/error-of.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { onLoopback } from '../../../support/on-loopback.ts'
import { runTrusting } from './run-trusting.ts'

const GET = { method: 'GET', headers: {}, body: undefined, redirect: 'manual' } as const

/** Whole logins with one are in `flow/client-certificate.test.ts`. */
describe('a request with a client certificate', () => {
  const open: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of open.splice(0)) await close()
  })
  const certified = async (clock = new FakeClock()) =>
    directFetch({ totalMs: 5000, maxBytes: 1000 }, clock, await makeClientCertificate())

  it('fails like any other when the authority of the IdP is unknown, with the code of the cause', async () => {
    const idp = await startIdp({ tls: { ...(await makeCertificates()).server, clientCertificates: true } })
    open.push(idp.close)
    const fetch = await certified()
    const error = await errorOf<Error & { cause?: { code?: string } }>(fetch(`${idp.issuer}/jwks`, GET))
    expect(error).to.be.instanceOf(TypeError)
    expect(error?.cause?.code).to.equal('UNABLE_TO_VERIFY_LEAF_SIGNATURE')
  })

  it('ends in time when nothing answers, and leaves no connection', async () => {
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket.resume())
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    })
    const { port, close } = await onLoopback(server)
    open.push(close)
    const clock = new FakeClock()
    const fetch = await certified(clock)
    const failed = errorOf(fetch(`https://127.0.0.1:${port}/`, GET))
    await once(server, 'connection')
    await clock.advance(5_000)
    expect((await failed)?.name).to.equal('TimeoutError')
    for (const socket of sockets) await once(socket, 'close')
    const aborted = errorOf(fetch('https://127.0.0.1:9/', { ...GET, signal: AbortSignal.abort() }))
    expect((await aborted)?.name).to.equal('AbortError')
  })

  it('ends in time when the answer never ends, takes no body with 204, and the process goes on', async () => {
    const certificates = await makeCertificates()
    const idp = await startIdp({ tls: { ...certificates.server, clientCertificates: true } })
    open.push(idp.close)
    idp.faults.set('jwks', { kind: 'drip', everyMs: 20 })
    idp.faults.set('revocation', { kind: 'answer', status: 204 })
    const script = `
      import { directFetch } from './plugin/provider/http/direct-fetch.ts'
      import { systemClock } from './plugin/clock.ts'
      const { idp, cert, key } = JSON.parse(process.env.GIVEN)
      const within = (totalMs) => directFetch({ totalMs, maxBytes: 1000 }, systemClock, { cert, key })
      const fetch = within(60_000)
      const get = { method: 'GET', headers: {}, redirect: 'manual' }
      const dripping = await within(300)(idp + '/jwks', get).catch((error) => error.name)
      const empty = await fetch(idp + '/token/revocation', { ...get, method: 'POST', body: new URLSearchParams('a=b') })
      const found = await fetch(idp + '/.well-known/openid-configuration', get).catch((error) => error.code)
      console.log(JSON.stringify([dripping, empty.status, await empty.text(), found]))`
    const given = JSON.stringify({ idp: idp.issuer, ...(await makeClientCertificate()) })
    const folder = await createClientFolder()
    open.push(folder.remove)
    const said = await runTrusting(await folder.write('ca.pem', certificates.ca.cert), script, { GIVEN: given })
    expect(JSON.parse(said)).to.deep.equal(['TimeoutError', 204, '', 'ANSWER_TOO_LARGE'])
  })
})
