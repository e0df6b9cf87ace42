import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import type { Finding } from '../problem.ts'
import type { ClientCertificate } from '../settings.ts'

/**
 * Reads a client certificate and its key from PEM texts, or reports what is wrong with them. Messages never quote the
 * texts, because these contain a private key.
 */
export function readClientCertificate(
  cert: string,
  key: string,
  now: number,
): { readonly certificate: ClientCertificate | null; readonly findings: readonly Finding[] } {
  const x509 = attempt(() => new X509Certificate(cert))
  const privateKey = attempt(() => createPrivateKey(key))
  if (!x509 || !privateKey) {
    const findings = [...(x509 ? [] : [NO_CERTIFICATE]), ...(privateKey ? [] : [NO_KEY])]
    return { certificate: null, findings }
  }
  if (!belongsTo(x509, privateKey)) return { certificate: null, findings: [FOREIGN_KEY] }
  const thumbprint = createHash('sha256').update(x509.raw).digest('base64url')
  return { certificate: { cert, key, thumbprint }, findings: Date.parse(x509.validTo) < now ? [EXPIRED] : [] }
}

function belongsTo(x509: X509Certificate, key: KeyObject): boolean {
  return attempt(() => x509.checkPrivateKey(key)) === true
}

const NO_CERTIFICATE: Finding = {
  steps: ['tlsCertFile'],
  reason: 'names a file without a certificate',
  remedy: 'Name a PEM file that contains the client certificate, followed by its intermediate certificates.',
}
const NO_KEY: Finding = {
  steps: ['tlsKeyFile'],
  reason: 'names a file without a usable private key',
  remedy: 'Name a PEM file with the key of the client certificate, not protected by a passphrase.',
}
const FOREIGN_KEY: Finding = {
  steps: ['tlsKeyFile'],
  reason: 'names the key of another certificate',
  remedy: 'Name the key that belongs to the first certificate in tlsCertFile.',
}
const EXPIRED: Finding = {
  warning: 'certificate_expired',
  steps: ['tlsCertFile'],
  reason: 'names a certificate that has expired',
  remedy: 'Renew the certificate: most identity providers refuse an expired one.',
}

function attempt<Value>(make: () => Value): Value | undefined {
  try {
    return make()
  } catch {
    return undefined
  }
}
