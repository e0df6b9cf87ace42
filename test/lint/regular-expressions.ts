import { type ParserOptions, parse } from '@babel/parser'

/** A regular expression as it is written in a source file. */
export interface WrittenPattern {
  readonly line: number
  readonly pattern: string
  readonly flags: string
}

const OPTIONS: ParserOptions = { sourceType: 'module', plugins: ['typescript'] }
/** Replaces a value that is interpolated into a pattern. The values are names and times, so a letter is typical. */
const ANY_VALUE = 'x'

interface SourceNode {
  readonly type: string
  readonly loc?: { readonly start: { readonly line: number } } | null
  readonly [member: string]: unknown
}

/**
 * Returns all regular expression literals of a source text, and every text or template that `RegExp` is called with.
 * Throws on any other argument of `RegExp`.
 */
export function patternsIn(text: string, file: string): readonly WrittenPattern[] {
  return nodesIn(parse(text, OPTIONS).program as unknown as SourceNode).flatMap((node) => {
    const line = node.loc?.start.line ?? 0
    if (node.type === 'RegExpLiteral') return [{ line, pattern: String(node.pattern), flags: String(node.flags) }]
    if (!/^(?:New|Call)Expression$/.test(node.type) || (node.callee as SourceNode).name !== 'RegExp') return []
    const [pattern, flags] = (node.arguments as readonly SourceNode[]).map(textOf)
    if (pattern === undefined) throw new Error(`${file}:${line}: the pattern of RegExp must be a string or a template.`)
    return [{ line, pattern, flags: flags ?? '' }]
  })
}

function textOf(node: SourceNode): string | undefined {
  if (node.type === 'StringLiteral') return String(node.value)
  const template = node.type === 'TaggedTemplateExpression' ? (node.quasi as SourceNode) : node
  if (template.type !== 'TemplateLiteral') return undefined
  const form = node === template ? 'cooked' : 'raw'
  const parts = template.quasis as readonly { readonly value: Readonly<Record<string, string>> }[]
  return parts.map(({ value }) => value[form]).join(ANY_VALUE)
}

function nodesIn(value: unknown): readonly SourceNode[] {
  if (Array.isArray(value)) return value.flatMap(nodesIn)
  if (typeof value !== 'object' || value === null || !('type' in value)) return []
  return [value as SourceNode, ...Object.values(value).flatMap(nodesIn)]
}
