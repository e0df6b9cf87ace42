import { codeBlocks } from '../documents.ts'

/**
 * Returns a site from a page of the documents: its only block in that language, with the test's own places.
 *
 * @param places from the page to those of the test. Each must be on the page; otherwise it would not be tested
 */
export function siteOnPage(page: string, language: string, places: Readonly<Record<string, string>>): string {
  const blocks = codeBlocks(page, language)
  const [block] = blocks
  if (block === undefined || blocks.length > 1) throw new Error(`The page has ${blocks.length} blocks of ${language}.`)
  return Object.entries(places).reduce((text, [there, here]) => {
    if (!text.includes(there)) throw new Error(`"${there}" is not in the block of ${language}.`)
    return text.replaceAll(there, here)
  }, block)
}
