import type { Page, ScriptedBrowser } from '../../../fixtures/browser.ts'

/** The form of a page that has such a field. */
export const formWith = (page: Page, field: string) =>
  page.forms.find(({ fields }) => fields.some(([name]) => name === field))

export const asksForPassword = (page: Page): boolean => formWith(page, 'password') !== undefined

/** Presses that button where the page asks for consent; any other page is handed back as it is. */
export async function answerConsent(browser: ScriptedBrowser, page: Page, answer: 'Allow' | 'Deny'): Promise<Page> {
  const form = page.forms.find(({ buttons }) => buttons.some(({ text }) => text === answer))
  return form ? browser.submit(form, {}, answer) : page
}
