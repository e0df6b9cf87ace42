import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createServer, type Server } from 'node:tls'
import { expect } from 'chai'
import { makeCertificates } from '../../fixtures/certificate.ts'
import { freePort } from '../support/host-process.ts'
import { laboratory } from './support/laboratory.ts'
import { isLoginPage, isSignedIn, messageOn, sessionOf, signedIn, signIn } from './support/session.ts'
import { closes, useMesh } from './support/use-mesh.ts'

describe('MeshCentral behind a proxy that ends TLS', () => {
  let proxy: Server
  const sockets = new Set<Socket>()
  const setup = useMesh(async () => {
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
    return {
      settings: { port: inside, aliasPort: port, tlsOffload: '127.0.0.1' },
      domains: { '': {}, closed: { oidc: { newAccounts: false } }, dns: { members: { dns: 'other.mesh.test' } } },
    }
  })
  after(() => {
    for (const socket of sockets) socket.destroy()
    proxy?.close()
  })

  it("a user signs in and out behind the proxy, and the session has the user's address", async () => {
    const person = setup.person()
    const far = setup.browser('11.22.33.44')
    await signIn(setup, far, person)
    expect(sessionOf(far, setup.url).ip).to.equal('11.22.33.44')
    const browser = await signedIn(setup, person)
    const page = await setup.open(browser)
    expect(page.user.name).to.equal(person.name)
    const { headers } = await browser.step(`${setup.url}logout`)
    const query = new URL(headers.location ?? '').searchParams
    expect(query.get('id_token_hint')?.split('.')).to.have.length(3)
    await closes(page)
    expect(await isSignedIn(setup, browser)).to.equal(false)
    const failed = await signIn(setup, setup.browser(), setup.person(), { domain: 'closed' })
    expect(isLoginPage(failed)).to.equal(true)
    expect(messageOn(failed)).to.equal(100)
  })

  it('behind a TLS proxy, a user signs in to a domain with dns and no certificate file', async () => {
    await signedIn(setup, setup.person(), 'dns')
  })
})
