import { codeBlocks } from '../documents.ts'

/**
 * A site out of a page of the documents: its only block of that language, with a test's own places in place of the
 * example's.
 *
 * @param places what stands on the page, and what is there in a test. Each has to be on the page: one that is not is no
 *   part of what is tried
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
