import { resolve } from 'node:path'
import Mocha, { type Hook, type Suite, type Test } from 'mocha'

/** How often each mutant was reached, by its id. */
type Hits = Record<string, number>

/** State that mutated code and the runner share. */
interface Shared {
  activeMutant?: string | undefined
  currentTestId?: string | undefined
  hitCount?: number | undefined
  hitLimit?: number | undefined
  mutantCoverage?: { readonly static: Hits; readonly perTest: Record<string, Hits> }
}

interface MutantRun {
  readonly activeMutant: { readonly id: string }
  /** Ids of the tests that reach the mutant; without them all are run. */
  readonly testFilter?: readonly string[]
  /** After so many milliseconds Stryker ends the process. */
  readonly timeout: number
  readonly hitLimit?: number
  /** `static`: the mutant is reached while files are loaded. */
  readonly mutantActivation: 'runtime' | 'static'
}

interface TestResult {
  readonly id: string
  readonly name: string
  readonly timeSpentMs: number
  /** 0: passed. 1: failed. 2: skipped. */
  readonly status: 0 | 1 | 2
  readonly failureMessage?: string
}

/**
 * Runs the tests for Stryker. Its own runner does not support this major version of mocha. Files are loaded once; after
 * that, a mutant is only switched on.
 */
class MochaRunner {
  // The names of the arguments that Stryker passes to the constructor.
  static readonly inject = ['options'] as const
  readonly #shared: Shared
  // The base reporter prints nothing.
  readonly #mocha = new Mocha({ reporter: Mocha.reporters.Base, timeout: 0 })
  /** Code reached in hooks of a suite counts for each of its tests. */
  readonly #suites = new Map<string, readonly string[]>()
  #isLoaded = false

  constructor({ mochaOptions }: { readonly mochaOptions: { readonly spec: readonly string[] } }) {
    const world = globalThis as { __stryker__?: Shared }
    world.__stryker__ ??= {}
    this.#shared = world.__stryker__
    this.#mocha.cleanReferencesAfterRun(false)
    for (const file of mochaOptions.spec) this.#mocha.addFile(resolve(file))
  }

  capabilities() {
    return { reloadEnvironment: false }
  }

  async dryRun() {
    const tests = await this.#run(undefined, 'runtime')
    const coverage = this.#shared.mutantCoverage ?? { static: {}, perTest: {} }
    for (const [id, members] of this.#suites) {
      const hits = Object.entries(coverage.perTest[id] ?? {})
      delete coverage.perTest[id]
      for (const member of members) {
        coverage.perTest[member] ??= {}
        const covered = coverage.perTest[member]
        for (const [mutant, count] of hits) covered[mutant] = (covered[mutant] ?? 0) + count
      }
    }
    return { status: 'complete', tests, mutantCoverage: coverage }
  }

  async mutantRun({ activeMutant, testFilter, timeout, hitLimit, mutantActivation }: MutantRun) {
    this.#shared.hitLimit = hitLimit
    this.#shared.hitCount = hitLimit === undefined ? undefined : 0
    const names = testFilter?.map((name) => name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
    this.#mocha.grep(names ? new RegExp(`^(?:${names.join('|')})$`) : /^/)
    const tests = await this.#run(activeMutant.id, mutantActivation, 0.8 * timeout)
    if (hitLimit !== undefined && (this.#shared.hitCount ?? 0) > hitLimit) return { status: 'timeout' }
    const nrOfTests = tests.filter(({ status }) => status !== 2).length
    const failed = tests.find(({ status }) => status === 1)
    if (!failed) return { status: 'survived', nrOfTests }
    return { status: 'killed', killedBy: [failed.id], failureMessage: failed.failureMessage ?? '', nrOfTests }
  }

  /**
   * @param limitMs time limit of each test and hook; 0: none. A test that hangs then fails, before Stryker would kill
   * the process
   */
  async #run(
    mutant: string | undefined,
    activation: MutantRun['mutantActivation'],
    limitMs = 0,
  ): Promise<readonly TestResult[]> {
    if (!this.#isLoaded) {
      this.#shared.activeMutant = activation === 'static' ? mutant : undefined
      await this.#mocha.loadFilesAsync()
      this.#isLoaded = true
    }
    this.#shared.activeMutant = mutant
    // A mutant is dead with the first test that fails.
    this.#bail(this.#mocha.suite, mutant !== undefined)
    const results: TestResult[] = []
    const add = (test: Test | Hook, status: TestResult['status'], failureMessage?: string) => {
      const id = this.#testOf(test).fullTitle()
      const result = { id, name: id, timeSpentMs: test.duration ?? 0, status }
      results.push(failureMessage === undefined ? result : { ...result, failureMessage })
    }
    await new Promise<void>((ended) => {
      this.#mocha
        .run(() => ended())
        .on('hook', (hook) => this.#enter(hook.timeout(limitMs)))
        .on('test', (test) => {
          test.timeout(limitMs)
          this.#shared.currentTestId = test.fullTitle()
        })
        .on('pass', (test) => add(test, 0))
        .on('pending', (test) => add(test, 2))
        .on('fail', (test, error) => add(test, 1, String(error)))
    })
    this.#shared.currentTestId = undefined
    return results
  }

  #bail(suite: Suite, bail: boolean): void {
    suite.bail(bail)
    for (const inner of suite.suites) this.#bail(inner, bail)
  }

  #enter({ parent, title }: Hook): void {
    if (!parent || !/^"(?:before|after) all"/.test(title)) return
    const id = `all of ${parent.fullTitle()}`
    const members: string[] = []
    parent.eachTest((test) => members.push(test.fullTitle()))
    this.#suites.set(id, members)
    this.#shared.currentTestId = id
  }

  /** Returns the test itself, or the test for which a hook runs. */
  #testOf(test: Test | Hook): Test | Hook {
    let first: Test | undefined = test.ctx?.currentTest
    if ('type' in test && test.type === 'hook' && !first) {
      test.parent?.eachTest((sibling) => {
        first ??= sibling
      })
    }
    return first ?? test
  }
}

/** The members of a syntax node that matter for texts. */
interface Node {
  readonly type: string
  readonly value?: unknown
  readonly quasis?: readonly { readonly value: { readonly raw: string } }[]
}

/** Ignores texts of several words, such as messages and SQL. Tests check which text is used, but not every word. */
const texts = {
  shouldIgnore({ node }: { readonly node: Node }): string | undefined {
    const text =
      node.type === 'StringLiteral' ? String(node.value) : node.quasis?.map(({ value }) => value.raw).join('')
    return text !== undefined && /\p{L}[,.:;]? \p{L}/u.test(text) ? 'a text' : undefined
  },
}

export const strykerPlugins = [
  { kind: 'TestRunner', name: 'mocha', injectableClass: MochaRunner },
  { kind: 'Ignore', name: 'texts', value: texts },
]
