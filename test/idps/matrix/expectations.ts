import { expect } from 'chai'
import type { Page } from '../../../fixtures/browser.ts'
import type { CaseName } from '../support/cases.ts'
import type { Lab, SignInVisit } from '../support/lab.ts'
import { fullName, type Person } from '../support/people.ts'
import type { Bench } from './run.ts'

/** All that there is to know where an expectation fails. */
export function told(lab: Lab, page: Page): string {
  const lines = lab.complaints().map(({ event, message, fields }) => `${event}: ${message} ${JSON.stringify(fields)}`)
  return [`ended at ${page.url} (${page.status}): ${page.text.slice(0, 500)}`, ...lines].join('\n')
}

export function expectSignedIn(lab: Lab, { who, page }: SignInVisit, person: Person): void {
  expect(who.status, told(lab, page)).to.equal(200)
  expect(who).to.include({ name: fullName(person), email: person.email })
  expect(page.url).to.equal(lab.host.url)
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

/** The browser stays at a page of the provider, which has told the host nothing. */
export function expectOwnPage({ idp }: Bench, lab: Lab, visit: SignInVisit): void {
  expect(visit.page.url, told(lab, visit.page)).to.satisfy((url: string) => url.startsWith(new URL(idp.issuer).origin))
  expect(visit.who.status).to.equal(401)
  expect(visit.failure).to.equal(undefined)
}

/** A wrong setting ends where the provider says that it does, and there is a line unless the host cannot know. */
export function expectNamed(
  bench: Bench,
  name: CaseName,
  lab: Lab,
  visit: SignInVisit,
  codes: string | readonly string[],
  words: readonly RegExp[],
): void {
  if (bench.idp.ownPage.has(name)) {
    expectOwnPage(bench, lab, visit)
  } else expectRefused(lab, visit, codes, words)
}
