import { type AST, RegExpParser, visitRegExpAST } from '@eslint-community/regexpp'
import { Chars, type ReadonlyFlags, toUnicodeSet } from 'regexp-ast-analysis'
import { analyse } from 'scslre'

/** A part of a pattern: it consumes characters of the set, at least `min` times. */
interface Item {
  readonly chars: CharSet
  /** The ways that a repeated group can match in one repetition. */
  readonly turns?: readonly Way[]
  /** Whether this part must match something. */
  readonly isRequired: boolean
  readonly isUnbounded: boolean
}
type CharSet = ReturnType<typeof Chars.all>
interface Way {
  readonly isAnchored: boolean
  readonly items: readonly Item[]
}

/** Above this number of repetitions, a quantifier counts as unbounded. */
const MANY = 1_000
/** Alternatives multiply. Above this number of ways, a group counts as any of its characters. */
const MOST_WAYS = 200

/**
 * Returns why a regular expression may take more than linear time for some text, or undefined. Two rules find it:
 *
 * - scslre: quantifiers that can trade characters with each other, with themselves, or with the place where the match
 * begins.
 * - Our own, because scslre stops at a prefix or separator of two characters (`/\/auth.*\/x/`, `/[^x]+\.css[^x]*x/`).
 * It finds an unbounded quantifier that something must follow. Everything between it and the previous quantifier (or
 * the start of the match) can match within its own run.
 *
 * Both prefer false alarms to misses. Look-arounds count as always true.
 */
export function superLinear(pattern: string, flags: string): string | undefined {
  const literal = new RegExpParser().parseLiteral(`/${pattern}/${flags}`)
  const [report] = analyse(literal).reports
  if (report) return report.exponential ? 'exponential' : `polynomial (${report.type})`
  const inner: AST.Alternative[][] = []
  visitRegExpAST(literal, {
    onAssertionEnter(node) {
      if (node.kind === 'lookahead') inner.push(node.alternatives)
    },
    onQuantifierEnter({ element }) {
      if (element.type === 'Group' || element.type === 'CapturingGroup') inner.push(element.alternatives)
    },
  })
  const isSticky = literal.flags.sticky
  const isBad = (alternatives: AST.Alternative[], isAnchored: boolean) =>
    waysOf(alternatives, literal.flags).some((way) => trades({ ...way, isAnchored: way.isAnchored || isAnchored }))
  if (isBad(literal.pattern.alternatives, isSticky) || inner.some((alternatives) => isBad(alternatives, true)))
    return 'polynomial'
  return undefined
}

function trades({ isAnchored, items }: Way): boolean {
  const mayBeIn = (between: readonly Item[], run: CharSet) =>
    between.every((item) => !item.isRequired || !item.chars.isDisjointWith(run))
  return items.some((last, index) => {
    if (!last.isUnbounded || !items.slice(index + 1).some(({ isRequired }) => isRequired)) return false
    const preceding = items.slice(0, index)
    // In a text that repeats the preceding items, each repetition is another start of a match with a run of its own.
    const text = preceding.some(({ isRequired }) => isRequired) ? unionOf(preceding) : last.chars
    if (!isAnchored && mayBeIn(preceding, runOf(last, text))) return true
    return preceding.some((first, from) => {
      const shared = first.chars.intersect(last.chars)
      const run = runOf(first, shared).intersect(runOf(last, shared))
      return first.isUnbounded && !run.isEmpty && mayBeIn(preceding.slice(from + 1), run)
    })
  })
}

/**
 * Returns the characters that an item can consume from a text of these characters. A way through a group counts only if
 * each of its required items finds characters in the text.
 */
function runOf({ chars, turns }: Item, text: CharSet): CharSet {
  if (!turns) return chars
  const possible = turns.filter(({ items }) =>
    items.every((item) => !item.isRequired || !runOf(item, text).isDisjointWith(text)),
  )
  return unionOf(
    possible.flatMap(({ items }) => items),
    chars,
  )
}

function unionOf(items: readonly Item[], like?: CharSet): CharSet {
  const [first, ...more] = items
  if (!first) return (like as CharSet).intersect((like as CharSet).negate())
  return more.reduce((sum, item) => sum.union(item.chars), first.chars)
}

const EMPTY: readonly Way[] = [{ isAnchored: false, items: [] }]

function waysOf(alternatives: readonly AST.Alternative[], flags: ReadonlyFlags): readonly Way[] {
  return alternatives.flatMap(({ elements }) =>
    elements.reduce<readonly Way[]>((ways, element) => joined(ways, waysOfElement(element, flags), flags), EMPTY),
  )
}

function joined(heads: readonly Way[], tails: readonly Way[], flags: ReadonlyFlags): readonly Way[] {
  const more = heads.length * tails.length > MOST_WAYS ? [anyOf(tails, flags)] : tails
  return heads.flatMap((head) =>
    more.map((next) => ({
      isAnchored: head.isAnchored || (next.isAnchored && head.items.every(({ isRequired }) => !isRequired)),
      items: [...head.items, ...next.items],
    })),
  )
}

/** Merges many ways into one item that consumes any of their characters. */
function anyOf(ways: readonly Way[], flags: ReadonlyFlags): Way {
  const all = ways.flatMap(({ items }) => items)
  const chars = all.reduce((sum, item) => sum.union(item.chars), Chars.empty(flags))
  const isRequired = ways.every(({ items }) => items.some((item) => item.isRequired))
  return { isAnchored: false, items: [{ chars, isRequired, isUnbounded: all.some((item) => item.isUnbounded) }] }
}

function waysOfElement(element: AST.Element, flags: ReadonlyFlags): readonly Way[] {
  const item = (chars: CharSet, isRequired = true, isUnbounded = false): readonly Way[] => [
    { isAnchored: false, items: [{ chars, isRequired, isUnbounded }] },
  ]
  switch (element.type) {
    case 'Character':
    case 'CharacterClass':
    case 'CharacterSet':
    case 'ExpressionCharacterClass':
      return item(toUnicodeSet(element, flags).chars)
    case 'Group':
    case 'CapturingGroup':
      return waysOf(element.alternatives, flags)
    case 'Backreference':
      return item(Chars.all(flags), false, true)
    case 'Assertion':
      if (element.kind === 'start' && !flags.multiline) return [{ isAnchored: true, items: [] }]
      // An end assertion consumes no character, but it can fail.
      return element.kind === 'end' ? item(Chars.empty(flags)) : EMPTY
    case 'Quantifier': {
      const once = waysOfElement(element.element, flags)
      if (element.max <= 1) return element.min === 1 ? once : [...EMPTY, ...once]
      const [repeated] = anyOf(once, flags).items
      const isUnbounded = element.max > MANY || (repeated?.isUnbounded ?? false)
      const isRequired = element.min > 0 && (repeated?.isRequired ?? false)
      return [
        {
          isAnchored: false,
          items: [{ chars: repeated?.chars ?? Chars.empty(flags), turns: once, isRequired, isUnbounded }],
        },
      ]
    }
  }
}
