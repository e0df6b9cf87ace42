import { LoginError } from '../../errors.ts'
import { causes } from '../../log.ts'
import { UnansweredRequest } from '../http/noted-exchange.ts'
import { UnusableDocument } from '../issuer/discovery-document.ts'

/** What kept an issuer from being discovered, as one of our errors; the cause is kept. */
export function discoveryFault(error: unknown): LoginError {
  const chain = causes(error)
  const document = chain.find((cause) => cause instanceof UnusableDocument)
  if (document) {
    const { details, remedy } = document
    return new LoginError('discovery_failed', { cause: error, details, remedy })
  }
  const details = chain.find((cause) => cause instanceof UnansweredRequest)?.exchange ?? {}
  return new LoginError('discovery_failed', { cause: error, details: { ...details } })
}
