import { isAbsolute, resolve } from 'node:path'
import { printableText } from '../../log.ts'
import { withoutByteOrderMark } from '../json/byte-order-mark.ts'
import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import { quoted } from '../json/json-path.ts'
import type { Finding } from '../problem.ts'
import { isPlaceholder } from '../rules/placeholders.ts'

/**
 * Size limit of the file, in bytes. A client secret has a few dozen characters, so a longer file was configured by
 * mistake.
 */
export const MAX_SECRET_BYTES = 8192

/**
 * Reads a file. Throws like `readFileSync`.
 *
 * @param maxBytes limit after which reading may stop. Default: the whole file
 */
export type ReadFile = (file: string, maxBytes?: number) => string

/** The finding about a configured file if the caller of `readDomains` passed no function that reads files. */
export const NO_READER: Pick<Finding, 'reason' | 'remedy'> = {
  reason: 'names a file, but `readDomains` was called without the option `readFile`',
  remedy: "Pass `readFile`, for example `(file) => readFileSync(file, 'utf8')`.",
}

export interface SecretFileOptions {
  /**
   * Reads the file that `client.client_secret_file` names. Undefined if the host cannot read files. Then a configured
   * file is reported as a problem.
   */
  readonly readFile?: ReadFile
  /** Folder that a relative `client.client_secret_file` starts from. If undefined, a relative path is a problem. */
  readonly configFolder?: string
}

/** The client secret in a file, or what is wrong with the file. Messages never quote the content. */
export type SecretFileContent =
  | { readonly kind: 'secret'; readonly secret: string }
  | ({ readonly kind: 'unusable' } & Pick<Finding, 'reason' | 'remedy'>)

export interface ClientSecretReading {
  /**
   * The file that `client.client_secret_file` names, and the client secret in it. Null if this member is missing, or if
   * the file cannot be used.
   */
  readonly named: { readonly file: string; readonly secret: string } | null
  readonly findings: readonly Finding[]
}

const MEMBER = ['client', 'client_secret_file']
const NONE: ClientSecretReading = { named: null, findings: [] }

/**
 * Reads the file that `client.client_secret_file` names.
 *
 * @param oidc the `oidc` object with canonical names
 */
export function readClientSecret({ client }: JsonObject, options: SecretFileOptions): ClientSecretReading {
  const configured = isJsonObject(client) ? client.client_secret_file : undefined
  if (!isJsonObject(client) || typeof configured !== 'string' || configured === '') return NONE
  if (client.client_secret !== undefined) {
    const reason = 'is configured together with `client_secret`'
    return problem(reason, 'Keep one of the two. With both, it is unclear which secret applies.')
  }
  const { configFolder, readFile } = options
  if (configFolder === undefined && !isAbsolute(configured)) {
    const remedy = 'Write an absolute path, or pass the folder to `registerOidc` as `configFolder`.'
    return problem('is a relative path, but the folder of the configuration is unknown', remedy)
  }
  if (!readFile) return problem(NO_READER.reason, NO_READER.remedy)
  const file = resolve(configFolder ?? '', configured)
  const content = readSecretFile(file, readFile)
  if (content.kind === 'unusable') return problem(content.reason, content.remedy)
  const remedy = 'Write the client secret that the IdP issued to the file.'
  const warning = {
    warning: 'placeholder',
    steps: MEMBER,
    reason: 'names a file whose content looks like an example',
    remedy,
  } as const
  return { named: { file, secret: content.secret }, findings: isPlaceholder(content.secret) ? [warning] : [] }
}

/**
 * Reads a client secret. Ignores a byte order mark, and one line break at the end.
 *
 * @param file absolute path
 */
export function readSecretFile(file: string, readFile: ReadFile): SecretFileContent {
  const name = quoted(printableText(file))
  let text: string
  try {
    text = readFile(file, MAX_SECRET_BYTES)
  } catch (error) {
    return unreadable(name, error instanceof Error && 'code' in error ? String(error.code) : null)
  }
  if (Buffer.byteLength(text) > MAX_SECRET_BYTES) {
    return unusable(
      `names a file of more than ${MAX_SECRET_BYTES / 1024} KB`,
      `Check that ${name} is the right file: ${CONTENT}`,
    )
  }
  const secret = withoutByteOrderMark(text).replace(/\r?\n$/, '')
  if (secret === '') return unusable('names an empty file', `Write the client secret to ${name}.`)
  // RFC 6749, appendix A.2, forbids control characters. U+FFFD means that the file is not UTF-8. PowerShell writes
  // UTF-16.
  if (/[\p{Cc}\ufffd]/u.test(secret)) {
    return unusable('names a file that is not a single line of text in UTF-8', `Correct ${name}: ${CONTENT}`)
  }
  return { kind: 'secret', secret }
}

const CONTENT = 'it must contain only the client secret, in UTF-8.'

const REMEDIES: Readonly<Record<string, readonly [reason: string, remedy: (name: string) => string]>> = {
  ENOENT: [
    'names a file that does not exist',
    (name) => `Create ${name}, or correct the path. In a container, check that the secret is mounted there.`,
  ],
  EISDIR: ['names a folder', (name) => `Name the file that contains the client secret, not the folder ${name}.`],
  EACCES: [
    'names a file that this process may not read',
    (name) => `Allow the user of the server process to read ${name} and to open its folders.`,
  ],
}

function unreadable(name: string, code: string | null): SecretFileContent {
  const cause = code === 'EPERM' ? REMEDIES.EACCES : code === null ? undefined : REMEDIES[code]
  if (cause) return unusable(`${cause[0]} (${code})`, cause[1](name))
  const detail = code === null ? '' : ` (${code})`
  return unusable(`names a file that cannot be read${detail}`, `Check ${name}, and who may read it.`)
}

function unusable(reason: string, remedy: string): SecretFileContent {
  return { kind: 'unusable', reason, remedy }
}

function problem(reason: string, remedy: string): ClientSecretReading {
  return { named: null, findings: [{ steps: MEMBER, reason, remedy }] }
}
