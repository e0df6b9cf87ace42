import { BROWSER_NAMES, isAsked, press, sees, signInAtIdp, useBrowser } from '../support/browsers/all.ts'
import type { Tab } from '../support/browsers/driver.ts'
import { useMesh } from './support/use-mesh.ts'

/** True when the page is connected to the server by its socket. */
const CONNECTED = 'typeof meshserver === "object" && meshserver !== null && meshserver.State === 2'
const LOGIN_PAGE = 'document.querySelector("#auth-oidc") !== null'

describe('MeshCentral in real browsers', () => {
  const mesh = useMesh()

  for (const name of BROWSER_NAMES) {
    describe(`several MeshCentral tabs in ${name}`, () => {
      const browser = useBrowser(name)

      const signIn = async (): Promise<Tab> => {
        const tab = await browser.tab()
        await tab.goTo(`${mesh.url}auth-oidc`)
        await signInAtIdp(tab, mesh.person().username)
        await sees(tab, CONNECTED)
        return tab
      }

      it('five tabs that sign in at the same time all connect', async () => {
        const { username } = mesh.person()
        const tabs = [await browser.tab()]
        while (tabs.length < 5) tabs.push(await browser.tab())
        await Promise.all(tabs.map((tab) => tab.goTo(`${mesh.url}auth-oidc`)))
        for (const tab of tabs) await isAsked(tab)
        await Promise.all(tabs.map((tab) => signInAtIdp(tab, username)))
        for (const tab of tabs) await sees(tab, CONNECTED)
        for (const tab of tabs) await sees(tab, CONNECTED)
      })

      it('signing out in one tab shows the login page in every tab', async () => {
        const [first, second] = [await signIn(), await browser.tab()]
        await second.goTo(mesh.url)
        await sees(second, CONNECTED)
        await press(first, /^Logout$/)
        await press(first, /^Yes/)
        for (const tab of [first, second]) await sees(tab, LOGIN_PAGE)
      })

      it('a tab that connects after another tab signed out shows the login page', async () => {
        const [first, second] = [await signIn(), await browser.tab()]
        await second.goTo(mesh.url)
        await sees(second, CONNECTED)
        // Simulates a page that has loaded but not connected yet.
        await second.read('(autoReconnect = false, meshserver.Stop())')
        await press(first, /^Logout$/)
        await press(first, /^Yes/)
        await sees(first, LOGIN_PAGE)
        await second.read('meshserver.Start()')
        await sees(second, LOGIN_PAGE)
      })
    })
  }
})
