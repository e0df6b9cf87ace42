import type { Verdict } from '../verdict.ts'
import { AD_FS } from './ad-fs.ts'
import { AUTH0 } from './auth0.ts'
import { AZURE_AD_B2C } from './azure-ad-b2c.ts'
import { COGNITO } from './cognito.ts'
import { ENTRA_EXTERNAL_ID } from './entra-external-id.ts'
import { JUMPCLOUD } from './jumpcloud.ts'
import { KANIDM } from './kanidm.ts'
import type { AskedProvider, KnownProvider } from './known-provider.ts'
import { ONELOGIN } from './onelogin.ts'
import { SYNOLOGY } from './synology.ts'

/** The providers that the live check knows. Each has a page in the documentation. */
export const KNOWN_PROVIDERS: readonly KnownProvider[] = [
  AD_FS,
  AUTH0,
  AZURE_AD_B2C,
  COGNITO,
  ENTRA_EXTERNAL_ID,
  JUMPCLOUD,
  KANIDM,
  ONELOGIN,
  SYNOLOGY,
]

/**
 * Returns a verdict for each usual mistake with the provider, or `ok` without mistakes. Returns none for other
 * providers.
 */
export function judgeProvider(configuration: AskedProvider): readonly Verdict[] {
  const question = 'provider'
  const provider = KNOWN_PROVIDERS.find((candidate) => candidate.isAt(configuration))
  if (!provider) return []
  const mistakes = provider.mistakes(configuration).filter((mistake) => mistake !== false)
  if (mistakes.length === 0) {
    return [{ question, verdict: 'ok', text: `${provider.name}, without any of its usual mistakes` }]
  }
  return mistakes.map(({ verdict, text }) => ({ question, verdict, text: `${provider.name}: ${text}` }))
}
