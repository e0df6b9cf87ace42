import { expect } from 'chai'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { until } from '../../support/until.ts'
import { discover } from '../support/discover.ts'
import type { Lab } from '../support/lab.ts'
import { ALICE, BOB } from '../support/people.ts'
import { listenToTokens } from '../support/token-answers.ts'
import { describeVisit, expectNoComplaint, signInAs, signOutFully } from './expectations.ts'
import type { Bench, Runs } from './run.ts'

/** Signs Alice in with two browsers and Bob with one. The provider notifies the host when sessions end. */
async function twoSessions({ lab: start }: Bench, sessionRequired: boolean) {
  const lab = await start({ backchannel: { sessionRequired } })
  const [first, second] = [await signInAs(lab, ALICE), await signInAs(lab, ALICE)]
  const bystander = await signInAs(lab, BOB)
  const statusOf = async ({ browser }: typeof first) => (await lab.whoIs(browser)).status
  return { lab, first, second, bystander, statusOf }
}

function endSessions({ idp }: Bench, selection: 'newest' | 'all'): Promise<void> {
  if (!idp.endSessions) throw new Error('a provider that cannot end sessions must list this in `cannot`')
  return idp.endSessions(ALICE, selection)
}

/** Expects all of Alice's sessions to end, and Bob's to go on. */
async function endsAll(bench: Bench, sessionRequired: boolean): Promise<void> {
  const { lab, first, second, bystander, statusOf } = await twoSessions(bench, sessionRequired)
  await endSessions(bench, 'all')
  for (const visit of [first, second])
    await until('the session to end here', async () => (await statusOf(visit)) === 401)
  expect(await statusOf(bystander)).to.equal(200)
  if (!bench.idp.refusesWithoutWords) expectNoComplaint(lab, first.page)
}

/** Signs a person out at the provider's own address, without the host. */
async function signOutThere({ idp }: Lab, browser: ScriptedBrowser): Promise<void> {
  const { end_session_endpoint: address = '' } = await discover(idp)
  await idp.confirmLogout(browser, await browser.get(address))
}

/** Whether the provider's introspection endpoint calls an access token active. */
async function isActive(lab: Lab, token: string): Promise<boolean> {
  const { introspection_endpoint: address = '' } = await discover(lab.idp)
  const { client_id, client_secret = '' } = lab.registered
  const answer = await fetch(address, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}` },
    body: new URLSearchParams({ token }),
  })
  expect(answer.status).to.equal(200)
  return ((await answer.json()) as { active: boolean }).active
}

export const SESSIONS = {
  max_age: async ({ idp, lab: start }) => {
    const lab = await start({ client: { default_max_age: 5 } })
    const { browser } = await signInAs(lab, ALICE)
    const loginPage = await until('the provider to ask again', async () => {
      const page = await browser.get(`${lab.host.url}auth-oidc`)
      return (await idp.asksWho(page, browser)) && page
    })
    const page = await idp.signIn(browser, loginPage, ALICE)
    expect((await lab.whoIs(browser)).status, describeVisit(lab, page)).to.equal(200)
    expectNoComplaint(lab, page)
  },

  authorization_params: async ({ idp, lab: start }) => {
    const lab = await start({ custom: { authorization_params: { prompt: 'login' } } })
    const { browser } = await signInAs(lab, ALICE)
    const page = await browser.get(`${lab.host.url}auth-oidc`)
    expect(await idp.asksWho(page, browser), describeVisit(lab, page)).to.equal(true)
  },

  logout: async ({ idp, lab: start }) => {
    const lab = await start()
    const { browser } = await signInAs(lab, ALICE)
    const page = await signOutFully(lab, browser)
    expect(await idp.ownSessions(ALICE)).to.be.oneOf([0, undefined])
    const next = await browser.get(`${lab.host.url}auth-oidc`)
    expect(await idp.asksWho(next, browser), describeVisit(lab, next)).to.equal(true)
    const events = await idp.events?.()
    if (events) {
      expect(events.filter((event) => /LOGOUT/.test(event))).to.deep.equal(['LOGOUT'])
      expect(events.filter((event) => /ERROR/.test(event))).to.deep.equal([])
    }
    expectNoComplaint(lab, page)
  },

  backchannel_one: async (bench) => {
    const { lab, first, second, statusOf } = await twoSessions(bench, true)
    if (bench.idp.endSessions) await bench.idp.endSessions(ALICE, 'newest')
    else await signOutThere(lab, second.browser)
    // If two sessions began in the same second, the provider decides which is the newest.
    const statuses = await until('one session to end here', async () => {
      const both = [await statusOf(first), await statusOf(second)]
      return both.includes(401) && both
    })
    expect(statuses.toSorted(), describeVisit(lab, first.page)).to.deep.equal([200, 401])
    expectNoComplaint(lab, first.page)
  },
  backchannel_all: (bench) => endsAll(bench, false),
  backchannel_all_one_sid: (bench) => endsAll(bench, true),

  introspection_disabled: async ({ idp, lab: start }) => {
    const lab = await start()
    const { browser } = await signInAs(lab, ALICE)
    await idp.disable(ALICE)
    expect(await lab.stateOf(browser)).to.equal('ended')
  },
  introspection_ended: async (bench) => {
    const lab = await bench.lab()
    const { browser } = await signInAs(lab, ALICE)
    await endSessions(bench, 'all')
    expect(await lab.stateOf(browser)).to.equal('ended')
  },

  revocation: async ({ idp, lab: start }) => {
    const tokens = listenToTokens()
    const lab = await start({ host: { fetch: tokens.fetch } })
    const { browser, page } = await lab.signIn(ALICE)
    const token = tokens.answers[0]?.access_token ?? ''
    expect(await isActive(lab, token), describeVisit(lab, page)).to.equal(true)
    // Logs out at the host, but does not open the provider's logout page, so that the provider's session goes on.
    const { headers } = await browser.step(`${lab.host.url}logout`)
    expect(await isActive(lab, token)).to.equal(false)
    expect(await idp.ownSessions(ALICE)).to.be.oneOf([1, undefined])
    const last = await idp.confirmLogout(browser, await browser.get(headers.location ?? ''))
    expect(last.url, describeVisit(lab, last)).to.satisfy((url: string) => url.startsWith(`${lab.host.url}login`))
  },

  key_rotation: async ({ idp, lab: start }) => {
    const lab = await start()
    await signInAs(lab, ALICE)
    await idp.rotateKeys()
    const { page } = await signInAs(lab, BOB)
    expectNoComplaint(lab, page)
  },
} satisfies Runs
