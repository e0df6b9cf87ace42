import { expect } from 'chai'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { until } from '../../meshcentral/support/until.ts'
import { discover } from '../support/discover.ts'
import type { Lab } from '../support/lab.ts'
import { ALICE, BOB } from '../support/people.ts'
import { listenToTokens } from '../support/token-answers.ts'
import { expectNoComplaint, signsIn, signsOut, told } from './expectations.ts'
import type { Bench, Runs } from './run.ts'

/** Signs somebody in at two browsers, at a provider that tells the host of the ends of sessions. */
async function twoSessions({ lab: start }: Bench, sessionRequired: boolean) {
  const lab = await start({ backchannel: { sessionRequired } })
  const [first, second] = [await signsIn(lab, ALICE), await signsIn(lab, ALICE)]
  const other = await signsIn(lab, BOB)
  const statusOf = async ({ browser }: typeof first) => (await lab.whoIs(browser)).status
  return { lab, first, second, other, statusOf }
}

function endSessions({ idp }: Bench, which: 'newest' | 'all'): Promise<void> {
  if (!idp.endSessions) throw new Error('a provider that cannot end sessions has to say so in `cannot`')
  return idp.endSessions(ALICE, which)
}

/** All of Alice's sessions end, and nobody else's. */
async function endsAll(bench: Bench, sessionRequired: boolean): Promise<void> {
  const { lab, first, second, other, statusOf } = await twoSessions(bench, sessionRequired)
  await endSessions(bench, 'all')
  for (const visit of [first, second])
    await until('the session to end here', async () => (await statusOf(visit)) === 401)
  expect(await statusOf(other)).to.equal(200)
  if (!bench.idp.refusesWithoutWords) expectNoComplaint(lab, first.page)
}

/** Signs somebody out at the provider's own address, without the host. */
async function signOutThere({ idp }: Lab, browser: ScriptedBrowser): Promise<void> {
  const { end_session_endpoint: address = '' } = await discover(idp)
  await idp.confirmLogout(browser, await browser.get(address))
}

/** Whether an access token is good at the provider's own introspection endpoint. */
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
    const { browser } = await signsIn(lab, ALICE)
    const again = await until('the provider to ask again', async () => {
      const page = await browser.get(`${lab.host.url}auth-oidc`)
      return (await idp.asksWho(page, browser)) && page
    })
    const page = await idp.signIn(browser, again, ALICE)
    expect((await lab.whoIs(browser)).status, told(lab, page)).to.equal(200)
    expectNoComplaint(lab, page)
  },

  authorization_params: async ({ idp, lab: start }) => {
    const lab = await start({ custom: { authorization_params: { prompt: 'login' } } })
    const { browser } = await signsIn(lab, ALICE)
    const page = await browser.get(`${lab.host.url}auth-oidc`)
    expect(await idp.asksWho(page, browser), told(lab, page)).to.equal(true)
  },

  logout: async ({ idp, lab: start }) => {
    const lab = await start()
    const { browser } = await signsIn(lab, ALICE)
    const page = await signsOut(lab, browser)
    expect(await idp.ownSessions(ALICE)).to.be.oneOf([0, undefined])
    const next = await browser.get(`${lab.host.url}auth-oidc`)
    expect(await idp.asksWho(next, browser), told(lab, next)).to.equal(true)
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
    // Which of two that began in the same second is the newest is up to the provider.
    const statuses = await until('one session to end here', async () => {
      const both = [await statusOf(first), await statusOf(second)]
      return both.includes(401) && both
    })
    expect(statuses.toSorted(), told(lab, first.page)).to.deep.equal([200, 401])
    expectNoComplaint(lab, first.page)
  },
  backchannel_all: (bench) => endsAll(bench, false),
  backchannel_all_one_sid: (bench) => endsAll(bench, true),

  introspection_disabled: async ({ idp, lab: start }) => {
    const lab = await start()
    const { browser } = await signsIn(lab, ALICE)
    await idp.disable(ALICE)
    expect(await lab.stateOf(browser)).to.equal('ended')
  },
  introspection_ended: async (bench) => {
    const lab = await bench.lab()
    const { browser } = await signsIn(lab, ALICE)
    await endSessions(bench, 'all')
    expect(await lab.stateOf(browser)).to.equal('ended')
  },

  revocation: async ({ idp, lab: start }) => {
    const tokens = listenToTokens()
    const lab = await start({ host: { fetch: tokens.fetch } })
    const { browser, page } = await lab.signIn(ALICE)
    const token = tokens.answers[0]?.access_token ?? ''
    expect(await isActive(lab, token), told(lab, page)).to.equal(true)
    // As far as the provider's own logout page, which is not asked yet: its session goes on.
    const { headers } = await browser.step(`${lab.host.url}logout`)
    expect(await isActive(lab, token)).to.equal(false)
    expect(await idp.ownSessions(ALICE)).to.be.oneOf([1, undefined])
    const last = await idp.confirmLogout(browser, await browser.get(headers.location ?? ''))
    expect(last.url, told(lab, last)).to.satisfy((url: string) => url.startsWith(`${lab.host.url}login`))
  },

  key_rotation: async ({ idp, lab: start }) => {
    const lab = await start()
    await signsIn(lab, ALICE)
    await idp.rotateKeys()
    const { page } = await signsIn(lab, BOB)
    expectNoComplaint(lab, page)
  },
} satisfies Runs
