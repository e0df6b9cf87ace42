import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { ScriptedBrowser } from '../../fixtures/browser.ts'
import { startPostgres } from '../support/postgres.ts'
import { answerFromIdp, whoAmI } from '../support/sign-in-setup.ts'
import { type HostProcesses, startHostProcesses } from './support/host-processes.ts'
import { startRedis } from './support/redis.ts'

const EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} }

interface Server {
  readonly address: string
  stop(): Promise<void>
}

const SERVERS: readonly (readonly [string, () => Promise<Server | string>])[] = [
  ['PostgreSQL (connect-pg-simple)', startPostgres],
  ['Redis (connect-redis)', startRedis],
]

for (const [name, start] of SERVERS) {
  describe(`Two processes of a server that share ${name}`, () => {
    let server: Server
    let open: HostProcesses | undefined

    before(async function () {
      this.timeout(120_000)
      const started = await start()
      if (typeof started === 'string') {
        process.stdout.write(`  left out: ${started}\n`)
        this.skip()
      }
      server = started
    })
    after(() => server?.stop())
    afterEach(() => open?.close())

    const begin = async (aheadMs = 0) => {
      open = await startHostProcesses(server.address, aheadMs)
      return open
    }
    const at = ({ port }: { readonly port: number }) => `http://127.0.0.1:${port}/`
    const signedIn = async ({ balancer }: HostProcesses) => {
      const person = new ScriptedBrowser()
      await person.login(balancer.url, 'alice', 'alice-demo')
      return person
    }
    const isSignedIn = async (person: ScriptedBrowser, url: string) => (await whoAmI(person, url)).status === 200
    const logoutToken = ({ idp }: HostProcesses, changes: object = {}) => {
      const nowS = Math.floor(Date.now() / 1000)
      const times = { iat: nowS, exp: nowS + 120, jti: randomUUID() }
      return idp.sign({ iss: idp.issuer, aud: 'mesh', sub: 'u-1001', events: EVENTS, ...times, ...changes })
    }
    const send = async (url: string, token: string) => {
      const body = new URLSearchParams({ logout_token: token })
      return (await fetch(`${url}auth-oidc-backchannel-logout`, { method: 'POST', body })).status
    }

    it('know a person who signed in through both of them', async () => {
      const hosts = await begin()
      const person = await signedIn(hosts)
      expect(await isSignedIn(person, at(hosts.first))).to.equal(true)
      expect(await isSignedIn(person, at(hosts.second))).to.equal(true)
    })

    it('both forget a person who signed out at one', async () => {
      const hosts = await begin()
      const person = await signedIn(hosts)
      await person.step(`${at(hosts.second)}logout`)
      expect(await isSignedIn(person, at(hosts.first))).to.equal(false)
      expect(await isSignedIn(person, at(hosts.second))).to.equal(false)
    })

    it('both forget a person whom the IdP signed out at one, though the clock of the other is 3 s ahead', async () => {
      const hosts = await begin(3000)
      hosts.balancer.use(hosts.first.port)
      const person = await signedIn(hosts)
      expect(await send(at(hosts.second), await logoutToken(hosts))).to.equal(200)
      expect(await isSignedIn(person, at(hosts.first))).to.equal(false)
      expect(await isSignedIn(person, at(hosts.second))).to.equal(false)
    })

    it('take a logout token once', async () => {
      const hosts = await begin()
      const token = await logoutToken(hosts)
      const answers = await Promise.all([send(at(hosts.first), token), send(at(hosts.second), token)])
      expect(answers.toSorted()).to.deep.equal([200, 400])
    })

    it('take an answer of the IdP once, from two copies of a browser', async () => {
      const hosts = await begin()
      const person = new ScriptedBrowser()
      const answer = new URL(await answerFromIdp(person, hosts.balancer.url, 'alice'))
      const cookie = person.cookies.header(answer) ?? ''
      const finish = async (url: string) => {
        const target = new URL(answer.pathname + answer.search, url)
        const { headers } = await fetch(target, { headers: { cookie }, redirect: 'manual' })
        return headers.get('location')
      }
      const landed = await Promise.all([finish(at(hosts.first)), finish(at(hosts.second))])
      expect(landed.toSorted()).to.deep.equal(['/', '/login?failure=login_expired'])
      expect(hosts.idp.requests('token')).to.equal(1)
    })

    it('go on as one when the other is killed, in the midst of a login', async () => {
      const hosts = await begin()
      const before = await signedIn(hosts)
      const person = new ScriptedBrowser()
      hosts.balancer.use(hosts.first.port)
      const answer = await answerFromIdp(person, hosts.balancer.url, 'alice')
      await hosts.first.kill()
      hosts.balancer.use(hosts.second.port)
      expect((await person.step(answer)).headers.location).to.equal('/')
      expect(await isSignedIn(person, hosts.balancer.url)).to.equal(true)
      expect(await isSignedIn(before, hosts.balancer.url)).to.equal(true)
      expect(await send(hosts.balancer.url, await logoutToken(hosts))).to.equal(200)
      expect(await isSignedIn(before, hosts.balancer.url)).to.equal(false)
    })
  })
}
