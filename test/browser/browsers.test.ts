import { createServer } from 'node:http'
import { expect } from 'chai'
import {
  arrives,
  BROWSER_NAMES,
  type PersonWithBrowser,
  press,
  sees,
  signInAtIdp,
  useBrowser,
} from '../support/browsers/all.ts'
import { onLoopback } from '../support/on-loopback.ts'
import { makeServerFiles, type ServerFiles } from '../support/server-files.ts'
import { type Setup, type SetupOptions, setUp } from '../support/sign-in-setup.ts'

interface Case {
  readonly options?: SetupOptions
  run(person: PersonWithBrowser, setup: Setup): Promise<void>
}

const FORM = { response_types: ['code id_token'] }
const ME = 'api/me?tab='

/** A login and a sign-out in each browser. The host and the provider are on different sites. */
const CASES: Readonly<Record<string, Case>> = {
  'a user signs in by an answer in the query, and out again': {
    async run(person, { host }) {
      const tab = await person.tab()
      await tab.goTo(host.url)
      await press(tab, /^Sign in with/)
      await signInAtIdp(tab, 'alice')
      await arrives(tab, host.url)
      expect(await tab.read('document.querySelector("main").textContent')).to.include('Alice Example')
      await press(tab, /^Sign out$/)
      await press(tab, /^Yes/)
      await arrives(tab, `${host.url}login`, { exactly: false })
      await tab.goTo(`${host.url}auth-oidc`)
      await signInAtIdp(tab, 'bob')
      await arrives(tab, host.url)
    },
  },
  'a user signs in by a form that the IdP posts cross-site': {
    options: { client: FORM, registered: { ...FORM, grant_types: ['implicit', 'authorization_code'] } },
    async run(person, { host }) {
      const tab = await person.tab()
      await tab.goTo(`${host.url}auth-oidc?return=/${ME}1`)
      await signInAtIdp(tab, 'alice')
      await arrives(tab, `${host.url}${ME}1`)
    },
  },
  'a user signs in by an answer in the fragment, absent from the history': {
    options: { client: { ...FORM, response_mode: 'fragment' }, registered: FORM },
    async run(person, { host }) {
      const tab = await person.tab()
      await tab.goTo(`${host.url}auth-oidc`)
      await signInAtIdp(tab, 'alice')
      await arrives(tab, host.url)
      await tab.read('void history.back()')
      await sees(tab, `location.href !== ${JSON.stringify(host.url)} && document.readyState === 'complete'`)
      expect(await tab.read('location.href')).not.to.match(/code=|id_token=/)
    },
  },
  'links and forms of another site lead to their targets, signed in or not': {
    async run(person, { host, idp }) {
      const target = `${host.url}${ME}2`
      const otherSite = createServer((_req, res) => {
        res.setHeader('Content-Type', 'text/html').end(
          `<a href="${host.url}auth-oidc?return=/${ME}1">begin</a> <a href="${host.url}">home</a>
          <form method="post" action="${host.url}auth-oidc"><input name="iss" value="${idp.issuer}">
          <input name="target_link_uri" value="${target}"><button>from elsewhere</button></form>`,
        )
      })
      const { url: away, close } = await onLoopback(otherSite)
      try {
        const tab = await person.tab()
        await tab.goTo(away)
        await press(tab, /^begin$/)
        await signInAtIdp(tab, 'alice')
        await arrives(tab, `${host.url}${ME}1`)
        await tab.goTo(away)
        await press(tab, /^home$/)
        await arrives(tab, host.url)
        await tab.goTo(away)
        await press(tab, /^from elsewhere$/)
        await arrives(tab, target)
      } finally {
        await close()
      }
    },
  },
  'three tabs sign in, even in reverse order, and sign out together': {
    async run(person, { host }) {
      const tabs = [await person.tab(), await person.tab(), await person.tab()]
      for (const [number, tab] of tabs.entries()) await tab.goTo(`${host.url}auth-oidc?return=/${ME}${number}`)
      for (const [number, tab] of [...tabs.entries()].reverse()) {
        await signInAtIdp(tab, 'alice')
        await arrives(tab, `${host.url}${ME}${number}`)
      }
      const [first, ...otherTabs] = tabs
      if (!first) return
      await first.goTo(host.url)
      await press(first, /^Sign out$/)
      await press(first, /^Yes/)
      await arrives(first, `${host.url}login`, { exactly: false })
      for (const tab of otherTabs) {
        await tab.goTo(host.url)
        await arrives(tab, `${host.url}login`)
      }
    },
  },
}

describe('logins across sites in real browsers', () => {
  let tls: ServerFiles
  let setup: Setup | undefined

  before(async () => {
    tls = await makeServerFiles('browsers')
  })
  afterEach(async () => {
    await setup?.close()
    setup = undefined
  })
  after(() => tls.remove())

  for (const name of BROWSER_NAMES) {
    describe(`cross-site logins in ${name}`, () => {
      const person = useBrowser(name)

      for (const [title, { options = {}, run }] of Object.entries(CASES)) {
        it(title, async () => {
          const { certFile, keyFile } = tls
          setup = await setUp({ ...options, tls: { certFile, keyFile } })
          await run(person, setup)
        })
      }
    })
  }
})
