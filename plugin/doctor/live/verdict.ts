import { LoginError } from '../../errors.ts'
import { causeCode, printableText } from '../../log.ts'
import { reasonOf } from '../../provider/faults/reason.ts'
import { unanswered } from '../../provider/faults/unanswered.ts'

/** Questions that the live check of a domain answers. */
export type Question =
  | 'discovery'
  | 'provider'
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

/** The live check's answer to one question. `text` says what to do, without secrets or control characters. */
export interface Verdict {
  readonly question: Question
  readonly verdict: 'ok' | 'warn' | 'fail'
  readonly text: string
}

/** Describes an error: its remedy, and its details in brackets. */
export function faultInWords(error: unknown): string {
  const fault = error instanceof LoginError ? error : new LoginError('internal', { cause: error })
  const code = unanswered(fault.cause)?.details.causeCode ?? causeCode(fault.cause)
  const remedy = typeof code === 'string' ? remedyForConnection(code) : undefined
  // If the error has an HTTP status, the IdP answered. The status then explains more than the error code of a
  // connection.
  const isAnswered = 'status' in fault.details
  const isExplained = remedy !== undefined || isAnswered || fault.cause === undefined
  const details = {
    ...(code === undefined || isAnswered ? {} : { causeCode: code }),
    ...(isExplained ? {} : { reason: reasonOf(fault.cause) }),
    ...fault.details,
  }
  const shownDetails = Object.entries(details).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${textOf(value)}`],
  )
  return `${remedy ?? fault.message}${shownDetails.length > 0 ? ` [${shownDetails.join(', ')}]` : ''}`
}

function textOf(value: unknown): string {
  return printableText(typeof value === 'string' ? value : JSON.stringify(value))
}

const PRIVATE_AUTHORITY =
  "The IdP's certificate leads to no authority that this machine trusts. If the authority is private, set NODE_EXTRA_CA_CERTS to the file with its chain, for the server and for this check. Otherwise have the IdP send its intermediate certificates too."
const NO_NAME = 'The host name of the IdP cannot be resolved. Check `issuer`, and the name servers of this machine.'
const NO_WAY =
  'The IdP cannot be reached from this machine. Check the address, firewalls, and whether HTTPS_PROXY must name a proxy.'

const REMEDIES: Readonly<Record<string, string>> = {
  UNABLE_TO_GET_ISSUER_CERT: PRIVATE_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: PRIVATE_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: PRIVATE_AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: PRIVATE_AUTHORITY,
  DEPTH_ZERO_SELF_SIGNED_CERT: PRIVATE_AUTHORITY,
  CERT_HAS_EXPIRED:
    'The certificate of the IdP has expired. Renew it at the IdP, or correct the clock of this machine if that is wrong.',
  CERT_NOT_YET_VALID: 'The certificate of the IdP is not valid yet. Check the clocks of both machines.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'The certificate of the IdP is for another host name. Use the name in the certificate, or have the IdP use a certificate for this name.',
  ECONNREFUSED: 'Nothing listens at the address of the IdP. Check that the IdP is running, and that the port is right.',
  ENOTFOUND: NO_NAME,
  EAI_AGAIN: NO_NAME,
  ETIMEDOUT: NO_WAY,
  EHOSTUNREACH: NO_WAY,
  ENETUNREACH: NO_WAY,
  TIMEOUT:
    'The IdP did not answer within 10 seconds. Check that it works, and proxies and firewalls between it and this machine.',
}

/** Whether a connection failed because this machine trusts no authority of the server's certificate. */
export function isUntrusted(code: string): boolean {
  return remedyForConnection(code) === PRIVATE_AUTHORITY
}

/** Returns the remedy for an error code of Node, or of OpenSSL's verification of certificates, if known. */
function remedyForConnection(code: string): string | undefined {
  return Object.hasOwn(REMEDIES, code) ? REMEDIES[code] : undefined
}
