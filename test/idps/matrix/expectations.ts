import { expect } from 'chai'
import type { Page, ScriptedBrowser } from '../../../fixtures/browser.ts'
import type { Lab, LabOptions, SignInVisit } from '../support/lab.ts'
import { ALICE, fullName, type Person } from '../support/people.ts'
import type { Bench } from './run.ts'

/** Describes the visit and all complaints of the host, for the message of a failed assertion. */
export function describeVisit(lab: Lab, page: Page): string {
  const lines = lab.complaints().map(({ event, message, fields }) => `${event}: ${message} ${JSON.stringify(fields)}`)
  return [`ended at ${page.url} (${page.status}): ${page.text.slice(0, 500)}`, ...lines].join('\n')
}

/** Signs a person in and expects the host to know their name and e-mail address. */
export async function signInAs(lab: Lab, person: Person, browser?: ScriptedBrowser): Promise<SignInVisit> {
  const visit = await lab.signIn(person, browser)
  expect(visit.me.status, describeVisit(lab, visit.page)).to.equal(200)
  expect(visit.me).to.include({ name: fullName(person), email: person.email })
  expect(visit.page.url).to.equal(lab.host.url)
  return visit
}

/** Signs Alice in at a host with these options and expects no warning and no error in the log. */
export async function signInCleanly({ lab: start }: Bench, options: LabOptions = {}) {
  const lab = await start(options)
  const visit = await signInAs(lab, ALICE)
  expectNoComplaint(lab, visit.page)
  return { lab, ...visit }
}

/** Signs out through the provider and expects to land on the host's login page. */
export async function signOutFully(lab: Lab, browser: ScriptedBrowser): Promise<Page> {
  const page = await lab.signOut(browser)
  expect(page.url, describeVisit(lab, page)).to.satisfy((url: string) => url.startsWith(`${lab.host.url}login`))
  expect((await lab.whoIs(browser)).status).to.equal(401)
  return page
}

export function expectNoComplaint(lab: Lab, page: Page): void {
  expect(lab.complaints(), describeVisit(lab, page)).to.deep.equal([])
}

/** Expects the login to fail, with one log line that has the code and the words that lead to the remedy. */
export function expectRefused(
  lab: Lab,
  visit: SignInVisit,
  codes: string | readonly string[],
  words: readonly RegExp[],
) {
  expect(visit.me.status, describeVisit(lab, visit.page)).to.equal(401)
  expect(visit.page.url, describeVisit(lab, visit.page)).to.match(/\/login\?failure=\w+$/)
  const line = visit.failure
  expect(codes, describeVisit(lab, visit.page)).to.include(line?.fields.code)
  const whole = `${line?.message} ${JSON.stringify(line?.fields)}`
  for (const word of words) expect(word.test(whole), `${word} in: ${whole}`).to.equal(true)
}
