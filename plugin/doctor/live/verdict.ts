import { LoginError } from '../../errors.ts'
import { causeCode, printableText } from '../../log.ts'
import { reasonOf } from '../../provider/faults/reason.ts'
import { unanswered } from '../../provider/faults/unanswered.ts'

/** What an IdP is asked while nobody signs in. */
export type Question =
  | 'discovery'
  | 'key set'
  | 'clock'
  | 'algorithms'
  | 'client authentication'
  | 'scopes'
  | 'response types'
  | 'PKCE'
  | 'client and redirect address'
  | 'secret or key'
  | 'UserInfo'
  | 'post-logout address'
  | 'files of this server'

/**
 * The answer to one question, with what to do where it is not `ok`. No secret, and no text of the IdP that was not
 * cleaned.
 */
export interface Verdict {
  readonly question: Question
  readonly verdict: 'ok' | 'warn' | 'fail'
  readonly text: string
}

/** A fault with its remedy, and with what is known of it in brackets. */
export function faultInWords(error: unknown): string {
  const fault = error instanceof LoginError ? error : new LoginError('internal', { cause: error })
  const code = unanswered(fault.cause)?.details.causeCode ?? causeCode(fault.cause)
  const remedy = typeof code === 'string' ? remedyForConnection(code) : undefined
  // What has a status was answered, and the answer says more.
  const isAnswered = 'status' in fault.details
  const isExplained = remedy !== undefined || isAnswered || fault.cause === undefined
  const details = {
    ...(code === undefined || isAnswered ? {} : { causeCode: code }),
    ...(isExplained ? {} : { reason: reasonOf(fault.cause) }),
    ...fault.details,
  }
  const known = Object.entries(details).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${textOf(value)}`],
  )
  return `${remedy ?? fault.message}${known.length > 0 ? ` [${known.join(', ')}]` : ''}`
}

function textOf(value: unknown): string {
  return printableText(typeof value === 'string' ? value : JSON.stringify(value))
}

const PRIVATE_AUTHORITY =
  'The certificate of the IdP leads to no authority that this machine trusts. Where the authority is private, name its chain in NODE_EXTRA_CA_CERTS for the server and for this check; else have the IdP send its intermediate certificates too.'
const NO_NAME = 'The host name of the IdP is not known here. Check `issuer`, and the name servers of this machine.'
const NO_WAY =
  'The IdP cannot be reached from this machine. Check the address, firewalls, and whether a proxy has to be named in HTTPS_PROXY.'

const REMEDIES: Readonly<Record<string, string>> = {
  UNABLE_TO_GET_ISSUER_CERT: PRIVATE_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: PRIVATE_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: PRIVATE_AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: PRIVATE_AUTHORITY,
  DEPTH_ZERO_SELF_SIGNED_CERT: PRIVATE_AUTHORITY,
  CERT_HAS_EXPIRED: 'The certificate of the IdP has expired: renew it there. Or the clock of this machine is wrong.',
  CERT_NOT_YET_VALID: 'The certificate of the IdP is not valid yet: check the clocks of both machines.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'The certificate of the IdP is for another host name: use the name that it has, or have it certify this one.',
  ECONNREFUSED: 'Nothing listens at the address of the IdP: is it running, and is the port right?',
  ENOTFOUND: NO_NAME,
  EAI_AGAIN: NO_NAME,
  ETIMEDOUT: NO_WAY,
  EHOSTUNREACH: NO_WAY,
  ENETUNREACH: NO_WAY,
  TIMEOUT: 'The IdP did not answer in 10 seconds. Check that it is well, and what stands between it and this machine.',
}

/**
 * What mends a connection that did not come about; undefined: nothing is known of such a one.
 *
 * @param code of Node, or of OpenSSL's verification
 */
function remedyForConnection(code: string): string | undefined {
  return Object.hasOwn(REMEDIES, code) ? REMEDIES[code] : undefined
}
