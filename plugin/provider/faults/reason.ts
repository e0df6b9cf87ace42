import { causes, deepestMessage, printableText } from '../../log.ts'

/**
 * Returns the library's reason for an error. Omits the message of a JSON parser, because it quotes the parsed text,
 * which may be a token.
 */
export function reasonOf(error: unknown): string {
  const chain = causes(error)
  if (!(chain.at(-1) instanceof SyntaxError)) return deepestMessage(error)
  return printableText(chain.findLast((cause) => !(cause instanceof SyntaxError))?.message ?? 'this is not JSON')
}
