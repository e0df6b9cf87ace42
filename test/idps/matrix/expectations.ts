import { expect } from 'chai'
import type { Page, ScriptedBrowser } from '../../../fixtures/browser.ts'
import type { Lab, LabOptions, SignInVisit } from '../support/lab.ts'
import { ALICE, fullName, type Person } from '../support/people.ts'
import type { Bench } from './run.ts'

/** All that there is to know where an expectation fails. */
export function told(lab: Lab, page: Page): string {
  const lines = lab.complaints().map(({ event, message, fields }) => `${event}: ${message} ${JSON.stringify(fields)}`)
  return [`ended at ${page.url} (${page.status}): ${page.text.slice(0, 500)}`, ...lines].join('\n')
}

/** Somebody goes in, and is. */
export async function signsIn(lab: Lab, person: Person, browser?: ScriptedBrowser): Promise<SignInVisit> {
  const visit = await lab.signIn(person, browser)
  expect(visit.who.status, told(lab, visit.page)).to.equal(200)
  expect(visit.who).to.include({ name: fullName(person), email: person.email })
  expect(visit.page.url).to.equal(lab.host.url)
  return visit
}

/** Alice goes in at a host with such a client, and nothing is said of it. */
export async function goesIn({ lab: start }: Bench, options: LabOptions = {}) {
  const lab = await start(options)
  const visit = await signsIn(lab, ALICE)
  expectNoComplaint(lab, visit.page)
  return { lab, ...visit }
}

/** Somebody goes out, by the provider, to the login page here. */
export async function signsOut(lab: Lab, browser: ScriptedBrowser): Promise<Page> {
  const page = await lab.signOut(browser)
  expect(page.url, told(lab, page)).to.satisfy((url: string) => url.startsWith(`${lab.host.url}login`))
  expect((await lab.whoIs(browser)).status).to.equal(401)
  return page
}

export function expectNoComplaint(lab: Lab, page: Page): void {
  expect(lab.complaints(), told(lab, page)).to.deep.equal([])
}

/** Nobody is signed in, and one line has the code and the words that lead to the mend. */
export function expectRefused(
  lab: Lab,
  visit: SignInVisit,
  codes: string | readonly string[],
  words: readonly RegExp[],
) {
  expect(visit.who.status, told(lab, visit.page)).to.equal(401)
  expect(visit.page.url, told(lab, visit.page)).to.match(/\/login\?failure=\w+$/)
  const line = visit.failure
  expect(codes, told(lab, visit.page)).to.include(line?.fields.code)
  const whole = `${line?.message} ${JSON.stringify(line?.fields)}`
  for (const word of words) expect(word.test(whole), `${word} in: ${whole}`).to.equal(true)
}
