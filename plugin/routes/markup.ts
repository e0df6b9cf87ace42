/**
 * A small page of finished markup, without a style of its own: it is in the colours that the browser has for light and
 * dark.
 *
 * @param head of further elements
 */
export function smallPage(title: string, body: string, head = ''): string {
  return (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">' +
    `<meta name="color-scheme" content="light dark"><title>${title}</title>${head}</head><body><main><h1>${title}</h1>${body}</main></body></html>`
  )
}

/** Text as it may stand in markup, in quotes of either kind too. */
export function escapeMarkup(text: string): string {
  return text.replace(/[&"'<>]/g, (character) => `&#${character.charCodeAt(0)};`)
}
