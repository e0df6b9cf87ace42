/**
 * Returns a small HTML page in the browser's own light or dark colours.
 *
 * @param title plain text without markup characters
 * @param body finished markup, as `head` is
 */
export function smallPage(title: string, body: string, head = ''): string {
  return (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">' +
    `<meta name="color-scheme" content="light dark"><title>${title}</title>${head}</head><body><main><h1>${title}</h1>${body}</main></body></html>`
  )
}

/** Escapes text for markup, and for attributes in quotes of either kind. */
export function escapeMarkup(text: string): string {
  return text.replace(/[&"'<>]/g, (character) => `&#${character.charCodeAt(0)};`)
}
