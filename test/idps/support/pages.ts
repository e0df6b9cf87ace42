import type { Page, ScriptedBrowser } from '../../../fixtures/browser.ts'

/** Finds the form of a page with this field. */
export const formWith = (page: Page, field: string) =>
  page.forms.find(({ fields }) => fields.some(([name]) => name === field))

export const asksForPassword = (page: Page): boolean => formWith(page, 'password') !== undefined

/** Presses the button if the page asks for consent; returns any other page unchanged. */
export async function answerConsent(browser: ScriptedBrowser, page: Page, answer: 'Allow' | 'Deny'): Promise<Page> {
  const form = page.forms.find(({ buttons }) => buttons.some(({ text }) => text === answer))
  return form ? browser.submit(form, {}, answer) : page
}
