import { createServer, request } from 'node:http'
import { expect } from 'chai'
import type { Settings } from '../../../../sidecar/index.ts'
import { checkPublic } from '../../../../sidecar/operator/commands/check-public.ts'
import { freePort } from '../../../support/host-process.ts'
import { onLoopback } from '../../../support/on-loopback.ts'

const TRUST = '"listen": { "trustProxy": ["127.0.0.1"] }'
const NGINX = 'for nginx proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;'

describe('The --check --public option', () => {
  const closing: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })

  async function listen(trustProxy: Settings['listen']['trustProxy'] = false): Promise<Settings['listen']> {
    return { host: '127.0.0.1', port: await freePort(), certFile: null, keyFile: null, trustProxy }
  }

  /** Passes requests on to `port`, with a header about the client. */
  async function proxy(port: number, says: (created: string) => string | undefined): Promise<string> {
    const server = createServer((incoming, outgoing) => {
      const { 'x-forwarded-for': forwardedFor, ...headers } = incoming.headers
      const output = says(String(forwardedFor))
      const options = { port, host: '127.0.0.1', method: 'POST', path: incoming.url ?? '' }
      request(
        { ...options, headers: { ...headers, ...(output !== undefined && { 'X-Forwarded-For': output }) } },
        (answer) => answer.pipe(outgoing.writeHead(answer.statusCode ?? 0)),
      )
        .on('error', () => outgoing.writeHead(502).end())
        .end()
    })
    const { url, close } = await onLoopback(server)
    closing.push(close)
    return url
  }

  const added = (forged: string) => `${forged}, 198.51.100.1`
  const replaced = () => '198.51.100.1'
  const passedOn = (forwarded: string) => forwarded
  const dropped = () => undefined
  // Shows: sidecar P1.13.
  for (const [name, trustProxy, says, expected] of [
    ['is trusted and appends the client', ['127.0.0.1'], added, 'ok'],
    ['is trusted and sets only the client', true, replaced, 'ok'],
    ['is trusted and passes on forged clients', ['127.0.0.1'], passedOn, NGINX],
    ['is trusted and names no client', true, dropped, NGINX],
    ['is not trusted', ['192.0.2.1'], added, TRUST],
  ] as const)
    it(`--check --public reports a proxy that ${name}`, async () => {
      const settings = await listen(trustProxy)
      const { verdict, text } = await checkPublic(settings, await proxy(settings.port, says))
      if (expected === 'ok') expect(verdict).to.equal('ok')
      else expect({ verdict, remedy: text.split(' Add ')[1] }).to.deep.equal({ verdict: 'fail', remedy: expected })
    })

  it('--check --public accepts a sidecar without a proxy', async () => {
    const settings = await listen()
    expect((await checkPublic(settings, `http://127.0.0.1:${settings.port}`)).verdict).to.equal('ok')
  })

  it('--check --public reports if another server or no server answers', async () => {
    const [settings, elsewhere] = [await listen(), await freePort()]
    const away = await checkPublic(settings, await proxy(elsewhere, added))
    expect(away.verdict).to.equal('fail')
    expect(away.text.includes('another server answered 502')).to.equal(true)
    const verdicts = await checkPublic(settings, `http://127.0.0.1:${elsewhere}`)
    expect(verdicts.verdict).to.equal('fail')
    expect(verdicts.text.includes('ECONNREFUSED')).to.equal(true)
  })

  it('--check --public sends no request while a sidecar listens on listen.port', async () => {
    const { port, url, close } = await onLoopback(createServer())
    closing.push(close)
    const settings = { ...(await listen()), port }
    const { verdict, text } = await checkPublic(settings, url)
    expect(verdict).to.equal('warn')
    expect(text.includes('stop the sidecar and repeat this check')).to.equal(true)
  })
})
