import { expect } from 'chai'
import type { Answer, ScriptedBrowser } from '../../../fixtures/browser.ts'
import { until } from '../../support/until.ts'
import { type Message, openPage } from './control-socket.ts'
import type { MeshSetup } from './mesh-setup.ts'
import { addDevice } from './relay.ts'
import { createLocalAccount } from './session.ts'

const PATH = 'pluginadmin.ashx?pin=meshcompanion'

/** The token in the form of the move page, or an empty text. */
export const tokenOn = ({ body }: Pick<Answer, 'body'>) => /name="token" value="([^"]+)"/.exec(body)?.[1] ?? ''

/** Creates a site admin with a password who has a device group with a device, and a user group. */
export async function createAdministrator(
  setup: MeshSetup,
  name: string,
  open: (browser: ScriptedBrowser) => ReturnType<typeof openPage> = (browser) => openPage(setup, browser),
) {
  const browser = setup.browser()
  expect(await createLocalAccount(setup, browser, name)).to.equal(true)
  const page = await open(browser)
  const device = await addDevice(page)
  await page.ask('createusergroup', { name: 'Helpers', responseid: 'helpers' })
  const group = await until('the user group', async () => groupNamed('Helpers', await page.ask('usergroups')))
  await page.ask('addusertousergroup', { ugrpid: group, usernames: [name], responseid: 'added' })
  return { browser, page, device, group, id: `user//${name}` }
}

function groupNamed(name: string, { ugroups }: Message): string | undefined {
  const groups = Object.entries((ugroups ?? {}) as Readonly<Record<string, { readonly name: string }>>)
  return groups.find(([, group]) => group.name === name)?.[0]
}

export function openMovePage(setup: MeshSetup, browser: ScriptedBrowser, from: string, to: string): Promise<Answer> {
  return browser.step(`${setup.url}${PATH}&page=move&${new URLSearchParams({ from, to }).toString()}`)
}

export function pressMove(
  setup: MeshSetup,
  browser: ScriptedBrowser,
  fields: Readonly<Record<string, string>>,
): Promise<Answer> {
  return browser.step(setup.url + PATH, { form: Object.entries({ action: 'move', ...fields }) })
}

/** Moves an account as a site admin does: opens the page, then presses its button. */
export async function moveAccount(
  setup: MeshSetup,
  browser: ScriptedBrowser,
  accounts: { readonly from: string; readonly to: string },
  fields: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const token = tokenOn(await openMovePage(setup, browser, accounts.from, accounts.to))
  return pressMove(setup, browser, { token, ...accounts, ...fields })
}
