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
    let hosts: HostProcesses
    let first: string
    let second: string
    /** The balancer's address, which browsers open. */
    let url: string

    before(async function () {
      this.timeout(120_000)
      const started = await start()
      if (typeof started === 'string') {
        process.stdout.write(`  left out: ${started}\n`)
        this.skip()
      }
      server = started
      // The clock of the first process is three seconds ahead.
      hosts = await startHostProcesses(server.address, 3000)
      ;[first, second] = [hosts.first, hosts.second].map(({ port }) => `http://127.0.0.1:${port}/`) as [string, string]
      url = hosts.balancer.url
    })
    beforeEach(() => hosts.balancer.use(hosts.first.port, hosts.second.port))
    after(async () => {
      await hosts?.close()
      await server?.stop()
    })

    let people = 0
    /** Creates a user without sessions that an earlier test ended. */
    const newcomer = () => {
      people += 1
      const [username, sub] = [`person${people}`, `sub-${people}`]
      hosts.idp.setUser({ username, password: `${username}-demo`, sub, claims: {} })
      return { username, sub, browser: new ScriptedBrowser() }
    }
    const signedIn = async () => {
      const person = newcomer()
      await person.browser.login(url, person.username, `${person.username}-demo`)
      return person
    }
    const isSignedIn = async ({ browser }: ReturnType<typeof newcomer>, address: string) =>
      (await whoAmI(browser, address)).status === 200
    const isIn = async (person: ReturnType<typeof newcomer>) =>
      Promise.all([isSignedIn(person, first), isSignedIn(person, second)])
    const logoutToken = ({ sub }: { readonly sub: string }) => {
      const nowS = Math.floor(Date.now() / 1000)
      const times = { iat: nowS, exp: nowS + 120, jti: randomUUID() }
      return hosts.idp.sign({ iss: hosts.idp.issuer, aud: 'mesh', sub, events: EVENTS, ...times })
    }
    const send = async (address: string, token: string) => {
      const body = new URLSearchParams({ logout_token: token })
      return (await fetch(`${address}auth-oidc-backchannel-logout`, { method: 'POST', body })).status
    }

    it('a login or logout at one of two hosts takes effect at both', async () => {
      const person = await signedIn()
      expect(await isIn(person)).to.deep.equal([true, true])
      await person.browser.step(`${second}logout`)
      expect(await isIn(person)).to.deep.equal([false, false])
    })

    it('a back-channel logout at one of two hosts ends the session despite clock skew', async () => {
      hosts.balancer.use(hosts.first.port)
      const person = await signedIn()
      expect(await send(second, await logoutToken(person))).to.equal(200)
      expect(await isIn(person)).to.deep.equal([false, false])
    })

    it('two hosts together accept a logout token only once', async () => {
      const token = await logoutToken({ sub: 'nobody' })
      const answers = await Promise.all([send(first, token), send(second, token)])
      expect(answers.toSorted()).to.deep.equal([200, 400])
    })

    it('two hosts accept the same IdP answer only once, even with copied cookies', async () => {
      const renewals = hosts.idp.requests('token')
      const { browser, username } = newcomer()
      const answer = new URL(await answerFromIdp(browser, url, username))
      const cookie = browser.cookies.header(answer) ?? ''
      const finish = async (address: string) => {
        const target = new URL(answer.pathname + answer.search, address)
        const { headers } = await fetch(target, { headers: { cookie }, redirect: 'manual' })
        return headers.get('location')
      }
      const landed = await Promise.all([finish(first), finish(second)])
      expect(landed.toSorted()).to.deep.equal(['/', '/login?failure=login_expired'])
      expect(hosts.idp.requests('token')).to.equal(renewals + 1)
    })

    it('a host completes a login that began at another host, which was then killed', async () => {
      const earlier = await signedIn()
      const person = newcomer()
      hosts.balancer.use(hosts.first.port)
      const answer = await answerFromIdp(person.browser, url, person.username)
      await hosts.first.kill()
      hosts.balancer.use(hosts.second.port)
      expect((await person.browser.step(answer)).headers.location).to.equal('/')
      expect(await isSignedIn(person, url)).to.equal(true)
      expect(await isSignedIn(earlier, url)).to.equal(true)
      expect(await send(url, await logoutToken(earlier))).to.equal(200)
      expect(await isSignedIn(earlier, url)).to.equal(false)
    })
  })
}
