import { causes, deepestMessage, printableText } from '../../log.ts'

/**
 * What the library says is wrong. What a parser of JSON says quotes the text that it met, which may be a token: that
 * stays out.
 */
export function reasonOf(error: unknown): string {
  const chain = causes(error)
  if (!(chain.at(-1) instanceof SyntaxError)) return deepestMessage(error)
  return printableText(chain.findLast((cause) => !(cause instanceof SyntaxError))?.message ?? 'this is no JSON')
}
