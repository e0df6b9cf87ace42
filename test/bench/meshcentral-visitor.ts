import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import type { MeshSetup, Person } from '../meshcentral/support/mesh-setup.ts'
import { isSignedIn, signIn } from '../meshcentral/support/session.ts'

/** Makes the client renew sessions. Call it again after each start of the server. */
export function allowRenewals(setup: MeshSetup): Promise<void> {
  return setup.register({ grant_types: ['authorization_code', 'refresh_token'] })
}

/**
 * A browser of its own, signed in by either strategy: the built-in one ends in a page that a browser without a screen
 * stays at.
 */
export async function visitorOf(setup: MeshSetup, person: Person): Promise<ScriptedBrowser> {
  const browser = setup.browser()
  await signIn(setup, browser, person)
  if (!(await isSignedIn(setup, browser))) throw new Error('not signed in')
  return browser
}
