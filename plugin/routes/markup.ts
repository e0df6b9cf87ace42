/** Text as it may stand in markup, in quotes of either kind too. */
export function escapeMarkup(text: string): string {
  return text.replace(/[&"'<>]/g, (character) => `&#${character.charCodeAt(0)};`)
}
