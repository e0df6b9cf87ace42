/**
 * Returns a small HTML page in the browser's light or dark colors.
 *
 * @param title plain text without markup characters
 * @param body HTML markup
 * @param head additional HTML markup
 */
export function smallPage(title: string, body: string, head = ''): string {
  return (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">' +
    `<meta name="color-scheme" content="light dark"><title>${title}</title>${head}</head><body><main><h1>${title}</h1>${body}</main></body></html>`
  )
}

/** Escapes text for HTML, including attributes in single or double quotes. */
export function escapeMarkup(text: string): string {
  return text.replace(/[&"'<>]/g, (character) => `&#${character.charCodeAt(0)};`)
}
