import { type AST, RegExpParser, visitRegExpAST } from '@eslint-community/regexpp'
import { Chars, type ReadonlyFlags, toUnicodeSet } from 'regexp-ast-analysis'
import { analyse } from 'scslre'

/** What a part of a pattern consumes: characters of the set, from `min` times on. */
interface Item {
  readonly chars: CharSet
  /** Of a repeated group: what it matches at each turn. */
  readonly turns?: readonly Way[]
  /** Whether it must match something. */
  readonly isRequired: boolean
  readonly isUnbounded: boolean
}
type CharSet = ReturnType<typeof Chars.all>
interface Way {
  readonly isAnchored: boolean
  readonly items: readonly Item[]
}

/** More repetitions than these count as any number. */
const MANY = 1_000
/** Alternatives multiply. Beyond these, a group counts as any of its characters. */
const MOST_WAYS = 200

/**
 * Returns why a regular expression may take more than linear time for some text, or undefined. Two rules find it:
 *
 * - scslre: quantifiers that can trade characters with each other, with themselves, or with the place where the match
 *   begins.
 * - Ours, since scslre stops at a prefix or separator of two characters (`/\/auth.*\/x/`, `/[^x]+\.css[^x]*x/`): an
 *   unbounded quantifier that something has to follow, where all between it and the quantifier before it, or the begin
 *   of the match, may stand in its own run.
 *
 * Both err on the side of reports. Look-arounds count as always true.
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
  if (isBad(literal.pattern.alternatives, isSticky) || inner.some((one) => isBad(one, true))) return 'polynomial'
  return undefined
}

function trades({ isAnchored, items }: Way): boolean {
  const mayBeIn = (between: readonly Item[], run: CharSet) =>
    between.every((one) => !one.isRequired || !one.chars.isDisjointWith(run))
  return items.some((last, at) => {
    if (!last.isUnbounded || !items.slice(at + 1).some(({ isRequired }) => isRequired)) return false
    const before = items.slice(0, at)
    // A text that repeats what stands before is another begin at each turn, and each has a run of its own.
    const text = before.some(({ isRequired }) => isRequired) ? unionOf(before) : last.chars
    if (!isAnchored && mayBeIn(before, runOf(last, text))) return true
    return before.some((first, from) => {
      const shared = first.chars.intersect(last.chars)
      const run = runOf(first, shared).intersect(runOf(last, shared))
      return first.isUnbounded && !run.isEmpty && mayBeIn(before.slice(from + 1), run)
    })
  })
}

/**
 * What it can consume of a text of these characters: a group only by the ways of which the text has all that they
 * require.
 */
function runOf({ chars, turns }: Item, text: CharSet): CharSet {
  if (!turns) return chars
  const possible = turns.filter(({ items }) =>
    items.every((one) => !one.isRequired || !runOf(one, text).isDisjointWith(text)),
  )
  return unionOf(
    possible.flatMap(({ items }) => items),
    chars,
  )
}

function unionOf(items: readonly Item[], like?: CharSet): CharSet {
  const [first, ...more] = items
  if (!first) return (like as CharSet).intersect((like as CharSet).negate())
  return more.reduce((sum, one) => sum.union(one.chars), first.chars)
}

const EMPTY: readonly Way[] = [{ isAnchored: false, items: [] }]

function waysOf(alternatives: readonly AST.Alternative[], flags: ReadonlyFlags): readonly Way[] {
  return alternatives.flatMap(({ elements }) =>
    elements.reduce<readonly Way[]>((ways, element) => joined(ways, waysOfElement(element, flags), flags), EMPTY),
  )
}

function joined(before: readonly Way[], after: readonly Way[], flags: ReadonlyFlags): readonly Way[] {
  const more = before.length * after.length > MOST_WAYS ? [anyOf(after, flags)] : after
  return before.flatMap((one) =>
    more.map((next) => ({
      isAnchored: one.isAnchored || (next.isAnchored && one.items.every(({ isRequired }) => !isRequired)),
      items: [...one.items, ...next.items],
    })),
  )
}

/** As one item, for what would be too many ways. */
function anyOf(ways: readonly Way[], flags: ReadonlyFlags): Way {
  const all = ways.flatMap(({ items }) => items)
  const chars = all.reduce((sum, one) => sum.union(one.chars), Chars.empty(flags))
  const isRequired = ways.every(({ items }) => items.some((one) => one.isRequired))
  return { isAnchored: false, items: [{ chars, isRequired, isUnbounded: all.some((one) => one.isUnbounded) }] }
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
      // No character stands there, but something may fail.
      return element.kind === 'end' ? item(Chars.empty(flags)) : EMPTY
    case 'Quantifier': {
      const once = waysOfElement(element.element, flags)
      if (element.max <= 1) return element.min === 1 ? once : [...EMPTY, ...once]
      const [one] = anyOf(once, flags).items
      const isUnbounded = element.max > MANY || (one?.isUnbounded ?? false)
      const isRequired = element.min > 0 && (one?.isRequired ?? false)
      return [
        {
          isAnchored: false,
          items: [{ chars: one?.chars ?? Chars.empty(flags), turns: once, isRequired, isUnbounded }],
        },
      ]
    }
  }
}
