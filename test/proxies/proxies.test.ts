import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import express from 'express'
import session from 'express-session'
import type { Page } from '../../fixtures/browser.ts'
import { makeCertificates } from '../../fixtures/certificate.ts'
import { type Idp, startIdp } from '../../fixtures/idp/server.ts'
import type { ClientSettings } from '../../plugin/config/settings.ts'
import { askForFiles } from '../../plugin/doctor/live/files.ts'
import { expressSessions } from '../../plugin/index.ts'
import { laboratory, serverSettings } from '../meshcentral/support/laboratory.ts'
import type { Person } from '../meshcentral/support/mesh-setup.ts'
import { isApp, isSignedIn, sessionOf, signIn } from '../meshcentral/support/session.ts'
import { closes, useMesh } from '../meshcentral/support/use-mesh.ts'
import { anyCertificateFetch } from '../support/any-certificate-fetch.ts'
import { freePort } from '../support/host-process.ts'
import { type OwnServer, startOwnServer } from '../support/own-server.ts'
import { MeasuredBrowser, MOST } from '../support/proxies/measured-browser.ts'
import { siteOnPage } from '../support/proxies/page-site.ts'
import { PROXIES, type ProxyName, type RunningProxy, startProxy } from '../support/proxies/start-proxy.ts'
import { whoAmI } from '../support/sign-in-setup.ts'

const HOSTS = { localhost: '127.0.0.1', 'other.mesh.test': '127.0.0.1' }
/** The address of the browsers. The proxies connect from 127.0.0.1. */
const ADDRESS = '127.0.0.9'
/** Headers of a visitor who fakes another address. */
const FAKED_ADDRESSES = {
  'x-forwarded-for': '11.22.33.44',
  'cf-connecting-ip': '11.22.33.45',
  'x-real-ip': '11.22.33.46',
}
/** Nginx Proxy Manager's switch "Cache Assets", reduced to the directives that matter here. */
const cachedAssets = (upstream: number) => `  location ~* \\.(css|js|png)$ {
    proxy_pass http://127.0.0.1:${upstream};
    proxy_cache assets;
    proxy_cache_valid any 30m;
    proxy_cache_use_stale updating;
    proxy_ignore_headers Set-Cookie Cache-Control Expires X-Accel-Expires;
    add_header X-Cache-Status $upstream_cache_status;
  }
`

describe('a server behind a proxy with the documented settings', () => {
  let port = 0
  let inside = 0
  let folder = ''
  let idp: Idp
  let devices: OwnServer
  let caches = 0
  let running: RunningProxy | string
  let page = ''
  const browsers: MeasuredBrowser[] = []

  /** Replaces the proxy in front of all servers. */
  async function use(name: ProxyName, change = (site: string) => site): Promise<RunningProxy> {
    if (typeof running === 'object') await running.stop()
    const upstreams = {
      '127.0.0.1:4430': `127.0.0.1:${inside}`,
      '127.0.0.1:3000': `127.0.0.1:${devices.port}`,
    }
    const files = {
      '/etc/ssl/mesh/fullchain.pem': join(folder, 'chain.pem'),
      '/etc/ssl/mesh/privkey.pem': join(folder, 'key.pem'),
    }
    const names = { 'mesh.example.org': 'localhost', 'customers.example.org': 'other.mesh.test' }
    const places: Readonly<Record<ProxyName, Readonly<Record<string, string>>>> = {
      nginx: { ...files, ...names, 'listen 443': `listen 127.0.0.1:${port}` },
      Apache: { ...files, ...names, '<VirtualHost *:443>': `Listen 127.0.0.1:${port}\n<VirtualHost *:${port}>` },
      Caddy: {
        ...files,
        'mesh.example.org, customers.example.org {': `localhost:${port}, other.mesh.test:${port} {\nbind 127.0.0.1`,
      },
      HAProxy: { '/etc/ssl/mesh/all.pem': join(folder, 'all.pem'), 'bind :443': `bind 127.0.0.1:${port}` },
    }
    const site = change(
      siteOnPage(page, name.toLowerCase().replace('caddy', 'caddyfile'), { ...upstreams, ...places[name] }),
    )
    running = await startProxy(name, site, port)
    if (typeof running === 'string') throw new Error(running)
    return running
  }

  /** Starts a custom Express server below a path, as the page describes it. */
  function startDevices(): Promise<OwnServer> {
    const base = '/devices/'
    const cookie = { path: base, secure: 'auto', sameSite: 'lax' } as const
    const app = express().set('trust proxy', '127.0.0.1')
    app.use(session({ secret: 'a secret of the devices', cookie, resave: false, saveUninitialized: false }))
    const origin = `https://localhost:${port}`
    return startOwnServer({ idp, app, sessions: expressSessions(), origin, base, oidc: { groups: {} } })
  }

  const setup = useMesh(async () => {
    page = await readFile(new URL('../../plugin/docs/behind-a-proxy.md', import.meta.url), 'utf8')
    const { settings, domains } = JSON.parse(siteOnPage(page, 'json', {}))
    port = (await laboratory()).port
    inside = await freePort()
    folder = await mkdtemp(join(tmpdir(), 'mesh-companion-proxies-'))
    const { server } = await makeCertificates({ names: ['other.mesh.test'] })
    await writeFile(join(folder, 'chain.pem'), server.cert)
    await writeFile(join(folder, 'key.pem'), server.key)
    await writeFile(join(folder, 'all.pem'), `${server.cert}\n${server.key}`)
    idp = await startIdp({ fetch: anyCertificateFetch })
    devices = await startDevices()
    await use('nginx')
    // The page's MeshCentral settings, adapted to free ports and to a machine that must not contact the Internet.
    const adapted = { ...settings, cert: serverSettings(port).cert, port: inside, aliasPort: port }
    const members = (domain: object) => ({ members: JSON.parse(JSON.stringify(domain).replace(':443/', `:${port}/`)) })
    return {
      sharedIdp: idp,
      settings: adapted,
      domains: {
        '': { ...members(domains['']), oidc: { groups: { sync: true } } },
        'by-path': members(domains['by-path']),
        'by-name': members({ ...domains['by-name'], dns: 'other.mesh.test' }),
      },
    }
  })
  after(async () => {
    for (const browser of browsers) browser.close()
    if (typeof running === 'object') await running.stop()
    await devices?.close()
    await idp?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const open = (url = setup.url) => {
    const browser = new MeasuredBrowser(url, {
      anyCertificate: true,
      hosts: HOSTS,
      localAddress: ADDRESS,
      headers: FAKED_ADDRESSES,
    })
    browsers.push(browser)
    return browser
  }
  const inGroups = (count: number) =>
    setup.person({ groups: Array.from({ length: count }, (_, index) => `group ${index}`) })
  const expectWithinLimits = (browser: MeasuredBrowser) => {
    for (const [kind, limit] of Object.entries(MOST))
      expect(browser.most[kind as keyof typeof MOST], kind).to.be.at.most(limit)
  }
  /** Signs out, with a click on the confirmation page if the IdP shows one. */
  async function signOut(browser: MeasuredBrowser, url: string): Promise<Page> {
    const landed = await browser.get(`${url}logout`)
    const [form] = landed.forms
    return form ? browser.submit(form) : landed
  }
  async function signedIn(person: Person, domain = ''): Promise<MeasuredBrowser> {
    const browser = open(setup.urlOf(domain))
    const landed = await signIn(setup, browser, person, { domain })
    expect(landed.status, `${landed.url} ${landed.text.slice(0, 200)}`).to.equal(200)
    expect(isApp(landed), `${landed.url} ${landed.text.slice(0, 200)}`).to.equal(true)
    expect(browser.bare).to.deep.equal([])
    return browser
  }

  for (const name of PROXIES)
    describe(name, () => {
      before(() => use(name))

      it('open pages close when a user with up to 400 groups signs out behind a proxy', async () => {
        for (const groups of [0, 40, 120, 400]) {
          const browser = await signedIn(inGroups(groups))
          const control = await setup.open(browser)
          const loggedOut = await signOut(browser, setup.url)
          expect(loggedOut.url.replace(/\?.*/, '')).to.equal(`${setup.url}login`)
          await closes(control)
          expect(await isSignedIn(setup, browser)).to.equal(false)
          expectWithinLimits(browser)
        }
      })

      it('a user with a long name signs in from twelve tabs with long return paths', async () => {
        const defaults = setup.person({ name: 'é'.repeat(1_000) })
        const person = setup.person({}, { ...defaults, sub: 's'.repeat(240) })
        const browser = open()
        const path = `auth-oidc?${new URLSearchParams({ return: `/?viewmode=1&x=${'p'.repeat(480)}`, login_hint: person.name })}`
        for (let tab = 0; tab < 12; tab += 1) expect((await browser.step(setup.url + path)).status).to.equal(302)
        for (let time = 0; time < 2; time += 1) {
          const landed = await signIn(setup, browser, person, { path })
          expect(landed.status, landed.url.slice(0, 200)).to.equal(200)
          expect(isApp(landed), landed.url.slice(0, 200)).to.equal(true)
        }
        expectWithinLimits(browser)
      })

      it("a user's page closes if the IdP ends the session by back-channel logout", async () => {
        const person = inGroups(3)
        const browser = await signedIn(person)
        const control = await setup.open(browser)
        expect(await setup.endSessions({ sub: person.sub })).to.equal(200)
        await closes(control)
        expect(await isSignedIn(setup, browser)).to.equal(false)
      })

      it("logs show users' addresses behind a proxy, for domains with a path or a DNS name", async () => {
        for (const domain of ['by-path', 'by-name']) {
          const person = setup.person()
          const browser = await signedIn(person, domain)
          expect(sessionOf(browser, setup.urlOf(domain)).ip).to.equal(ADDRESS)
          const lines = (await setup.data.authLog()).filter((line) => line.includes(person.sub))
          expect(lines.join('\n')).to.include(ADDRESS).and.not.include('11.22.33')
        }
      })

      it('a login starts over HTTP/2 behind a proxy', async () => {
        const session = connect(setup.url, { rejectUnauthorized: false, servername: 'localhost' })
        try {
          const stream = session.request({ ':path': '/auth-oidc' })
          const [headers] = await once(stream, 'response')
          expect(headers[':status']).to.equal(302)
          expect(new URL(headers.location).searchParams.get('redirect_uri')).to.match(/:\d+\/auth-oidc-callback$/)
        } finally {
          session.destroy()
        }
      })

      it('a user signs in and out at a custom Express server below a path behind a proxy', async () => {
        for (const groups of [0, 400]) {
          const person = inGroups(groups)
          const browser = open(devices.url)
          const landed = await browser.signIn(
            await browser.get(`${devices.url}auth-oidc`),
            person.username,
            person.password,
          )
          expect(landed.url).to.equal(devices.url)
          expect((await whoAmI(browser, devices.url)).id).to.equal(`~oidc:${person.sub}`)
          expect(browser.bare).to.deep.equal([])
          expect(devices.authLog.at(-1)?.fields.clientAddress).to.equal(ADDRESS)
          const loggedOut = await signOut(browser, devices.url)
          expect(loggedOut.url.replace(/\?.*/, ''), loggedOut.text).to.equal(`${devices.url}login`)
          expect((await whoAmI(browser, devices.url)).id).to.equal(null)
          expectWithinLimits(browser)
        }
      })
    })

  /** @param kept a directive for every file, such as a header that was cached with it */
  const withCache = (directive = '') =>
    use('nginx', (site) => {
      caches += 1
      const cache = `proxy_cache_path ${folder}/cache-${caches} keys_zone=assets:1m;\n`
      const assets = cachedAssets(inside).replace('  }', `    ${directive}\n  }`)
      return cache + site.replace('  location / {', `${assets}  location / {`)
    })

  it('--live fails if a proxy caches files together with cookies', async () => {
    const client = { redirect_uri: `${setup.url}auth-oidc-callback` } as ClientSettings
    const ask = () =>
      askForFiles({ client }, async (address) => {
        const { status, headers, body } = await open().step(address)
        return new Response(body, {
          status,
          headers: [
            ['content-type', headers['content-type'] ?? ''],
            ...(headers['set-cookie'] ?? []).map((cookie): [string, string] => ['set-cookie', cookie]),
          ],
        })
      })
    await withCache()
    expect((await ask()).text).to.equal('no cookie comes with the files of the login page (5 checked)')
    await withCache('add_header Set-Cookie xid=kept;')
    expect(await ask()).to.deep.include({ verdict: 'fail' })
  })

  it('static files set no session cookie, so that a caching proxy cannot share it', async () => {
    await withCache()
    const browser = await signedIn(setup.person())
    const url = new URL(setup.url)
    // A session issued a minute ago, which MeshCentral renews with its next answer.
    const old = Buffer.from(JSON.stringify({ ...sessionOf(browser, setup.url), t: 1 })).toString('base64')
    const key = String(serverSettings(port).sessionKey)
    const signature = createHmac('sha384', key).update(`xid=${old}`).digest('base64url')
    browser.cookies.plant(url, 'xid', old)
    browser.cookies.plant(url, 'xid.sig', signature)
    const file = `${setup.url}styles/style.css`
    const ownerAnswer = await browser.step(file)
    const strangerAnswer = await open().step(file)
    expect([ownerAnswer, strangerAnswer].map(({ headers }) => headers['x-cache-status'])).to.deep.equal(['MISS', 'HIT'])
    expect([ownerAnswer, strangerAnswer].map(({ headers }) => headers['set-cookie'])).to.deep.equal([
      undefined,
      undefined,
    ])
    expect((await browser.step(setup.url)).headers['set-cookie']?.join()).to.include('xid=')
  })
})
