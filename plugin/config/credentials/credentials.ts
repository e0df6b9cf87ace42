import { type FoundDomain, soleMember } from '../domains/find-domains.ts'
import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import { quoted } from '../json/json-path.ts'
import { canonicalName } from '../json/member-name.ts'
import { nearestName } from '../json/nearest-name.ts'
import type { Finding, Steps } from '../problem.ts'
import type { Credentials } from '../settings.ts'
import { readClientCertificate } from './client-certificate.ts'
import { readKeySet } from './client-key-set.ts'
import { NO_READER, type ReadFile } from './client-secret-file.ts'

/**
 * Names of the files that contain this server's private keys and its client certificate. A relative path is resolved
 * against the working directory.
 */
export interface CredentialFiles {
  /** The file with a JWK Set (RFC 7517) of private keys. */
  readonly jwksFile?: string
  /** The PEM files of the certificate and its key. Configure both or neither. */
  readonly tlsCertFile?: string
  readonly tlsKeyFile?: string
}

export interface CredentialOptions {
  /** Credential files by domain key. They replace `domains.<key>.oidcCredentials`. */
  readonly credentials?: Readonly<Record<string, CredentialFiles>>
  /**
   * Reads the credential files. Undefined if the host cannot read files. Then each configured file is reported as a
   * problem.
   */
  readonly readFile?: ReadFile
  /** Current time in milliseconds since 1970, to recognize expired certificates. Undefined to skip that check. */
  readonly now?: number
}

export interface CredentialReading {
  readonly credentials: Credentials
  /** The path of the member that sets the credentials, in the configuration or in the options of the host. */
  readonly steps: Steps
  /** Mistakes in the credentials. The path of each mistake is relative to the path `steps`. */
  readonly findings: readonly Finding[]
}

const FILES = ['jwksFile', 'tlsCertFile', 'tlsKeyFile'] as const
type FileMember = (typeof FILES)[number]
/**
 * The value for a domain that has neither keys nor a certificate. All such domains share this object, so callers can
 * test for it with `===`.
 */
export const NO_CREDENTIALS: Credentials = { keys: [], certificate: null }

/** Reads the keys and the certificate of one domain's client from the configured files. */
export function readCredentials({ key, domain }: FoundDomain, options: CredentialOptions): CredentialReading {
  const configured =
    options.credentials && Object.hasOwn(options.credentials, key) ? options.credentials[key] : undefined
  const member = soleMember(domain, 'oidcCredentials', ['domains', key])
  const steps = configured === undefined ? ['domains', key, 'oidcCredentials'] : ['credentials', key]
  const raw: unknown = configured ?? member.value
  if (configured === undefined && member.problems.length > 0) {
    const findings = member.problems.map(({ reason, remedy }) => ({ steps: [], reason, remedy }))
    return { credentials: NO_CREDENTIALS, steps, findings }
  }
  if (raw === undefined) return { credentials: NO_CREDENTIALS, steps, findings: [] }
  if (!isJsonObject(raw)) {
    const remedy = `Write an object with any of ${FILES.join(', ')}.`
    return { credentials: NO_CREDENTIALS, steps, findings: [{ steps: [], reason: 'must be an object', remedy }] }
  }
  const texts = readFiles(raw, options)
  const keys = texts.jwksFile === undefined ? NONE_READ : readKeySet(texts.jwksFile)
  const { certificate, findings } =
    texts.tlsCertFile === undefined || texts.tlsKeyFile === undefined
      ? { certificate: null, findings: [] }
      : readClientCertificate(texts.tlsCertFile, texts.tlsKeyFile, options.now ?? Number.NEGATIVE_INFINITY)
  return {
    credentials: { keys: keys.keys, certificate },
    steps,
    findings: [
      ...texts.findings,
      ...keys.findings.map((finding) => ({ ...finding, steps: ['jwksFile', ...finding.steps] })),
      ...findings,
    ],
  }
}

const NONE_READ = { keys: [], findings: [] }

function readFiles(
  raw: JsonObject,
  { readFile }: CredentialOptions,
): Partial<Record<FileMember, string>> & { readonly findings: readonly Finding[] } {
  const named = namedFiles(raw)
  const findings = [...named.findings, ...halfOfPair(named)]
  const texts: Partial<Record<FileMember, string>> = {}
  for (const name of FILES) {
    const file = named[name]
    if (file === undefined) continue
    if (!readFile) {
      findings.push({ steps: [name], ...NO_READER })
      continue
    }
    try {
      texts[name] = readFile(file)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
      const remedy = 'Check its name, and who may read it. A relative name starts from the working directory.'
      findings.push({ steps: [name], reason: `names a file that cannot be read${code}`, remedy })
    }
  }
  return { ...texts, findings }
}

type NamedFiles = Partial<Record<FileMember, string>>

function namedFiles(raw: JsonObject): NamedFiles & { readonly findings: readonly Finding[] } {
  const findings: Finding[] = []
  const named: NamedFiles = {}
  for (const written of Object.keys(raw)) {
    if (raw[written] === undefined || canonicalName(written, FILES) !== undefined) continue
    const near = nearestName(written, FILES)
    const remedy = near === undefined ? `Remove it. Known here: ${FILES.join(', ')}.` : `Did you mean ${quoted(near)}?`
    findings.push({ steps: [written], reason: 'is not a known setting', remedy })
  }
  for (const name of FILES) {
    const { value, problems } = soleMember(raw, name, [])
    findings.push(...problems.map(({ reason, remedy }) => ({ steps: [name], reason, remedy })))
    if (value === undefined || problems.length > 0) continue
    if (typeof value === 'string' && value !== '') named[name] = value
    else
      findings.push({
        steps: [name],
        reason: 'must be the name of a file',
        remedy: 'Write the path of the file as a string, or omit this setting.',
      })
  }
  return { ...named, findings }
}

function halfOfPair({ tlsCertFile, tlsKeyFile }: NamedFiles): readonly Finding[] {
  if ((tlsCertFile === undefined) === (tlsKeyFile === undefined)) return []
  const missing = tlsCertFile === undefined ? 'tlsCertFile' : 'tlsKeyFile'
  return [
    {
      steps: [missing],
      reason: 'is missing',
      remedy: "Name both PEM files: the certificate's and the key's.",
    },
  ]
}
