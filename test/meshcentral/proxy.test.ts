import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createServer, type Server } from 'node:tls'
import { expect } from 'chai'
import { makeCertificates } from '../../fixtures/certificate.ts'
import { freePort } from '../support/host-process.ts'
import { openPage } from './support/control-socket.ts'
import { laboratory, useLaboratory } from './support/laboratory.ts'
import { type MeshSetup, setUpMesh } from './support/mesh-setup.ts'
import { isLoginPage, isSignedIn, messageOn, sessionOf, signedIn, signIn } from './support/session.ts'
import { until } from './support/until.ts'

useLaboratory()

describe('MeshCentral behind a proxy that ends TLS', () => {
  let setup: MeshSetup
  let proxy: Server
  const sockets = new Set<Socket>()

  before(async () => {
    const { port } = await laboratory()
    const inside = await freePort()
    const { server } = await makeCertificates()
    proxy = createServer(server, (outer) => {
      const inner = connect(inside, '127.0.0.1')
      for (const socket of [outer, inner]) {
        sockets.add(socket)
        socket.on('error', () => undefined)
        socket.on('close', () => {
          sockets.delete(socket)
          outer.destroy()
          inner.destroy()
        })
      }
      outer.pipe(inner).pipe(outer)
    }).listen(port, '127.0.0.1')
    await once(proxy, 'listening')
    setup = await setUpMesh({
      settings: { port: inside, aliasPort: port, tlsOffload: '127.0.0.1' },
      domains: { '': {}, closed: { oidc: { newAccounts: false } } },
    })
  })
  after(async () => {
    await setup?.close()
    for (const socket of sockets) socket.destroy()
    proxy?.close()
  })

  it('signs people in and out, pages and all', async () => {
    const person = setup.person()
    const browser = await signedIn(setup, person)
    const page = await openPage(setup, browser)
    expect(page.user.name).to.equal(person.name)
    const { headers } = await browser.step(`${setup.url}logout`)
    const query = new URL(headers.location ?? '').searchParams
    expect(query.get('id_token_hint')?.split('.')).to.have.length(3)
    await until('the server to close the socket', () => !page.isOpen())
    expect(await isSignedIn(setup, browser)).to.equal(false)
  })

  it('shows why a login failed', async () => {
    const page = await signIn(setup, setup.browser(), setup.person(), { domain: 'closed' })
    expect([isLoginPage(page), messageOn(page)]).to.deep.equal([true, 100])
  })

  it('takes the address of the person from the proxy', async () => {
    const browser = setup.browser('11.22.33.44')
    await signIn(setup, browser, setup.person())
    expect(sessionOf(browser, setup.url).ip).to.equal('11.22.33.44')
  })
})
