import { createServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { expect } from 'chai'
import { makeCertificates } from '../../../fixtures/certificate.ts'
import { onLoopback } from '../../support/on-loopback.ts'
import { LiveCheckSetup } from './live-check-setup.ts'

describe('live check for cookies on files of the login page', () => {
  const setup = new LiveCheckSetup()
  afterEach(() => setup.close())
  const question = 'files of this server'
  /** Runs the check against a server that has a cache in front of it and a file in its login page. */
  async function askBehindCache(markup: string, cookie?: string, keys = 'application/json') {
    const requests: string[] = []
    const server = await onLoopback(
      createServer((req, res) => {
        requests.push(req.url ?? '')
        if (req.url === '/sub/login') res.end(markup)
        else if (req.url === '/sub/auth-oidc-jwks') res.writeHead(404, { 'content-type': keys }).end()
        else res.writeHead(200, cookie === undefined ? {} : { 'set-cookie': cookie }).end('a file')
      }),
    )
    const redirect = `${server.url}/sub/auth-oidc-callback`
    try {
      const idp = await setup.start({ redirect_uris: [redirect] })
      const { code, lineOf } = await setup.run(idp, { client: { redirect_uri: redirect } })
      return { code, line: lineOf(question), requests }
    } finally {
      await server.close()
    }
  }
  const MARKUP = `<link href="styles/a.css?v=1"><script src='/b.js'></script><img src=https://elsewhere.test/c.png><a href="page">`

  // Shows: plugin 9.32.
  it('the live check names login page files that set cookies, but not cookie values', async () => {
    const { code, line } = await askBehindCache(MARKUP, 'xid=secret; path=/')
    expect(code).to.equal(1)
    expect(line)
      .to.match(/^fail: .*\/sub\/styles\/a\.css comes with a cookie \(xid\)\. /)
      .and.not.include('secret')
  })

  it('the live check warns and skips the login page if the server lacks the plugin', async () => {
    const { code, line } = await askBehindCache(MARKUP, 'xid=secret; path=/', 'text/html')
    expect(code).to.equal(0)
    expect(line).to.match(
      /^warn: .*Not checked: the server at http.* runs without the plugin\. .*`settings\.plugins\.list`/,
    )
  })

  it('the live check passes if no file of the login page sets a cookie', async () => {
    const { code, line, requests } = await askBehindCache(MARKUP)
    expect({ code, line }).to.deep.equal({
      code: 0,
      line: `ok: ${question}: no cookie comes with the files of the login page (2 checked)`,
    })
    expect(requests).to.deep.equal(['/sub/login', '/sub/styles/a.css?v=1', '/b.js'])
    expect((await askBehindCache('<p>', 'xid=1')).line).to.match(/^ok: .*: none on /)
  })

  it("the live check says how to trust the server's certificate if it is not trusted", async () => {
    const { server: certificate } = await makeCertificates()
    const server = await onLoopback(createSecureServer(certificate, (_req, res) => res.end('<p>')))
    const redirect = `https://127.0.0.1:${server.port}/auth-oidc-callback`
    try {
      const idp = await setup.start({ redirect_uris: [redirect] })
      const { lineOf } = await setup.run(idp, { client: { redirect_uri: redirect } })
      expect(lineOf(question)).to.match(
        /^warn: .*does not trust the certificate of https:.*that NODE_EXTRA_CA_CERTS names/,
      )
    } finally {
      await server.close()
    }
  })
})
