import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import type { MeshSetup, Person } from '../meshcentral/support/mesh-setup.ts'
import { isSignedIn, signIn } from '../meshcentral/support/session.ts'

/** Allows the client to renew sessions with refresh tokens. Call it again after each start of the server. */
export function allowRenewals(setup: MeshSetup): Promise<void> {
  return setup.register({ grant_types: ['authorization_code', 'refresh_token'] })
}

/**
 * Returns a new browser with a signed-in user, for either strategy. After a built-in login, the browser stays on a page
 * whose script would continue.
 */
export async function visitorOf(setup: MeshSetup, person: Person): Promise<ScriptedBrowser> {
  const browser = setup.browser()
  await signIn(setup, browser, person)
  if (!(await isSignedIn(setup, browser))) throw new Error('not signed in')
  return browser
}
