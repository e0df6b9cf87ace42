import { printableText } from '../../log.ts'

/** MeshCentral's pages take markup in it for their own. */
export function withoutAngleBrackets(text: string): string {
  return text.replaceAll('<', '‹').replaceAll('>', '›')
}

/**
 * The name of a person or a group as MeshCentral's pages can show it: they take markup in it for their own, and undo percent signs, where
 * one that begins no escape breaks the page, such as that of a device group for those who manage it. Whoever may choose names at the IdP
 * would run scripts in a site admin's page otherwise.
 */
export function harmlessName(name: string): string {
  return withoutAngleBrackets(printableText(name)).replaceAll('%', '％')
}
