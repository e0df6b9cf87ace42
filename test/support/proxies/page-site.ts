import { codeBlocks } from '../documents.ts'

/**
 * Returns the configuration of a proxy's site from a documentation page. The page must have exactly one code block in
 * `language`.
 *
 * @param places texts in the block, such as paths, and their replacements for the test. Throws if the block lacks one
 * of them
 */
export function siteOnPage(page: string, language: string, places: Readonly<Record<string, string>>): string {
  const blocks = codeBlocks(page, language)
  const [block] = blocks
  if (block === undefined || blocks.length > 1) throw new Error(`The page has ${blocks.length} blocks of ${language}.`)
  return Object.entries(places).reduce((text, [pagePlace, testPlace]) => {
    if (!text.includes(pagePlace)) throw new Error(`"${pagePlace}" is not in the block of ${language}.`)
    return text.replaceAll(pagePlace, testPlace)
  }, block)
}
