import { printableText } from '../../log.ts'

/** MeshCentral's signed-in page greets by name and takes markup in it for its own. */
export function withoutAngleBrackets(text: string): string {
  return text.replaceAll('<', '‹').replaceAll('>', '›')
}

/**
 * The name of a group as MeshCentral's pages can show it: they take markup in it for their own, and undo percent signs, where one that
 * begins no escape breaks the page. Whoever may name groups at the IdP would run scripts in a site admin's page otherwise.
 */
export function harmlessName(name: string): string {
  return withoutAngleBrackets(printableText(name)).replaceAll('%', '％')
}
