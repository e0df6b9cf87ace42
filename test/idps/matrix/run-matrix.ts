import { CASES, type CaseName } from '../support/cases.ts'
import { startLab } from '../support/lab.ts'
import type { ProviderPackage, RealIdp } from '../support/real-idp.ts'
import { outcomeOf, RENEWALS, type RenewalCase } from '../support/renewals.ts'
import { scratchFor } from '../support/scratch.ts'
import { ANSWERS } from './answers.ts'
import { AUTHENTICATION } from './authentication.ts'
import { GROUPS } from './groups.ts'
import { LIVE } from './live.ts'
import { OUTAGES } from './outages.ts'
import { RENEWAL } from './renewal.ts'
import type { Bench, Run } from './run.ts'
import { SESSIONS } from './sessions.ts'
import { WRONG_SETTINGS } from './wrong-settings.ts'

const MATRIX: Readonly<Record<CaseName, Run>> = {
  ...AUTHENTICATION,
  ...GROUPS,
  ...ANSWERS,
  ...SESSIONS,
  ...RENEWAL,
  ...OUTAGES,
  ...WRONG_SETTINGS,
  ...LIVE,
}
/** The time limit of one case. A login of several pages takes a provider up to two seconds on one busy core. */
const CASE_LIMIT_MS = 60_000

/**
 * Runs the suite of one provider: installs it, starts it once, and runs every case and the provider's additional tests.
 * A case that the provider cannot do is pending, with the version and the reason in its title.
 *
 * @param more defines the additional tests. Its argument returns the bench of the current test
 */
export function runMatrix<Own extends RealIdp>(
  provider: ProviderPackage<Own>,
  more?: (bench: () => Bench<Own>) => void,
): void {
  describe(provider.name, () => {
    let idp: Own | undefined
    let bench: Bench<Own>
    const closers: (() => Promise<unknown> | unknown)[] = []

    before(async function () {
      this.timeout(provider.startLimitMs)
      const installed = await provider.install(await scratchFor(provider.name))
      if (installed.kind === 'missing') {
        console.log(`      ${provider.name} is skipped: ${installed.reason}`)
        this.skip()
      }
      idp = installed.idp
      await idp.start()
    })
    after(async function () {
      this.timeout(CASE_LIMIT_MS)
      await idp?.close()
    })

    beforeEach(async function () {
      this.timeout(CASE_LIMIT_MS)
      if (!idp) return
      await idp.reset()
      const resetIdp = idp
      bench = {
        idp: resetIdp,
        name: provider.name,
        async lab(options) {
          const lab = await startLab(resetIdp, options)
          closers.push(lab.close)
          return lab
        },
        keep: (close) => closers.push(close),
      }
    })
    // Closes everything even if one of them fails, then reports the first failure.
    const closeAll = async () => {
      const closing = closers.splice(0).reverse()
      const ended = await Promise.allSettled(closing.map((close) => close()))
      const [broken] = ended.filter((result) => result.status === 'rejected')
      if (broken) throw broken.reason
    }
    afterEach(async function () {
      this.timeout(CASE_LIMIT_MS)
      await closeAll()
    })

    for (const [name, title] of Object.entries(CASES) as [CaseName, string][]) {
      it(title, async function () {
        this.timeout(CASE_LIMIT_MS)
        const reason = bench.idp.cannot[name] ?? nothingToTry(provider.name, name)
        if (reason !== undefined) {
          if (this.test) this.test.title = `${title}: ${provider.name} ${bench.idp.version} cannot: ${reason}`
          this.skip()
        }
        // Close within the case, so that a failure found when a host closes, such as a secret in its log, belongs to
        // the case.
        await MATRIX[name](bench).finally(closeAll)
      })
    }

    more?.(() => bench)
  })
}

function nothingToTry(provider: string, name: CaseName): string | undefined {
  if (!(name in RENEWALS)) return undefined
  const outcome = outcomeOf(provider, name as RenewalCase)
  return typeof outcome === 'object' ? outcome.none : undefined
}
