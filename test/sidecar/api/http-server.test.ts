import { writeFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import { expect } from 'chai'
import { generate } from 'selfsigned'
import { createApiServer } from '../../../sidecar/api/http-server.ts'
import { unreadableError } from '../../../sidecar/api/requests/unreadable.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

describe('The HTTP server of the API', () => {
  const folder = temporaryFolder()
  let server: Server
  beforeEach(async () => {
    server = (await createApiServer({ certFile: null, keyFile: null })).server
  })
  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })

  // Shows: sidecar C10.3.
  it('allows a client 10 s for headers, 30 s for a request and over 60 s of idle time', () => {
    expect(server.headersTimeout).to.equal(10_000)
    expect(server.requestTimeout).to.equal(30_000)
    expect(server.keepAliveTimeout).to.be.above(60_000)
    expect(server.timeout).to.be.above(server.keepAliveTimeout)
    expect(server.maxConnections).to.be.within(5000, 10_000)
  })

  // Shows: sidecar O1.10.
  it('reports when the first certificate of the chain expires, also after a reload', async () => {
    const [certFile, keyFile] = [folder.path('cert.pem'), folder.path('key.pem')]
    const certificate = (year: number) =>
      generate([{ name: 'commonName', value: 'localhost' }], { notAfterDate: new Date(Date.UTC(year, 0, 1)) })
    const [leaf, authority, renewed] = await Promise.all([certificate(2040), certificate(2039), certificate(2041)])
    await writeFile(certFile, `${leaf.cert}\n${authority.cert}`)
    await writeFile(keyFile, leaf.private)
    const secured = await createApiServer({ certFile, keyFile })
    try {
      expect(secured.certificateExpiresAt()).to.equal(Date.UTC(2039, 0, 1))
      await writeFile(certFile, renewed.cert)
      await writeFile(keyFile, renewed.private)
      expect(secured.certificateExpiresAt()).to.equal(Date.UTC(2039, 0, 1))
      await secured.reloadCertificate()
      expect(secured.certificateExpiresAt()).to.equal(Date.UTC(2041, 0, 1))
    } finally {
      secured.server.close()
    }
  })

  // Shows: sidecar C10.3.
  it('a client gets no answer if its headers or body take too long', () => {
    expect(unreadableError(Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }))).to.equal(undefined)
  })
})
