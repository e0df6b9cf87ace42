import { isAbsolute, resolve } from 'node:path'
import { printableText } from '../../log.ts'
import { withoutByteOrderMark } from '../json/byte-order-mark.ts'
import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import { quoted } from '../json/json-path.ts'
import type { Finding } from '../problem.ts'
import { isPlaceholder } from '../rules/placeholders.ts'

/** A client secret has a few dozen characters. A longer file is another one, named by mistake. */
export const MOST_SECRET_BYTES = 8192

/**
 * The text of a file. Throws like `readFileSync`.
 *
 * @param maxBytes undefined: the whole file. Otherwise it may stop after one byte more, which shows that the file is
 *   longer
 */
export type ReadFile = (file: string, maxBytes?: number) => string

export interface SecretFileOptions {
  /** Without it no file can be read, and each one that is named is a problem. */
  readonly readFile?: ReadFile
  /**
   * Folder of the configuration, where a relative `client.client_secret_file` starts. Without it such a path is a
   * problem.
   */
  readonly configFolder?: string
}

/** The content of a file with a client secret, or what is wrong with the file. Never quotes its content. */
export type SecretFileContent =
  | { readonly kind: 'secret'; readonly secret: string }
  | ({ readonly kind: 'unusable' } & Pick<Finding, 'reason' | 'remedy'>)

export interface ClientSecretReading {
  /** Null: no file is named, or it cannot be used. */
  readonly named: { readonly file: string; readonly secret: string } | null
  readonly findings: readonly Finding[]
}

const AT = ['client', 'client_secret_file']
const NONE: ClientSecretReading = { named: null, findings: [] }

/** Reads the file that `client.client_secret_file` names. @param oidc under canonical names */
export function readClientSecret({ client }: JsonObject, options: SecretFileOptions): ClientSecretReading {
  const written = isJsonObject(client) ? client.client_secret_file : undefined
  if (!isJsonObject(client) || typeof written !== 'string' || written === '') return NONE
  if (client.client_secret !== undefined) {
    const reason = 'stands beside `client_secret`'
    return problem(reason, 'Keep one of the two: with both, it is unclear which secret counts.')
  }
  const { configFolder, readFile } = options
  if (configFolder === undefined && !isAbsolute(written)) {
    const remedy = 'Write an absolute path, or tell `registerOidc` the folder as `configFolder`.'
    return problem('is a relative path, and the folder of the configuration is not known', remedy)
  }
  const file = resolve(configFolder ?? '', written)
  const content = readSecretFile(file, readFile)
  if (content.kind === 'unusable') return problem(content.reason, content.remedy)
  const remedy = 'Write the client secret that the IdP issued into the file.'
  const warning = { warning: 'placeholder', at: AT, reason: 'names a file that looks like an example', remedy } as const
  return { named: { file, secret: content.secret }, findings: isPlaceholder(content.secret) ? [warning] : [] }
}

/** Reads a client secret. One line break at the end is ignored, and a byte order mark. @param file absolute */
export function readSecretFile(file: string, readFile: ReadFile | undefined): SecretFileContent {
  const name = quoted(printableText(file))
  let text: string
  try {
    if (!readFile) throw new Error('Nothing reads files here')
    text = readFile(file, MOST_SECRET_BYTES)
  } catch (error) {
    return unreadable(name, error instanceof Error && 'code' in error ? String(error.code) : null)
  }
  if (Buffer.byteLength(text) > MOST_SECRET_BYTES) {
    return unusable(`names a file of more than ${MOST_SECRET_BYTES / 1024} KB`, `Check what ${name} is: ${CONTENT}`)
  }
  const secret = withoutByteOrderMark(text).replace(/\r?\n$/, '')
  if (secret === '') return unusable('names an empty file', `Write the client secret into ${name}.`)
  // RFC 6749, appendix A.2, allows no control characters. A replacement character was no UTF-8: PowerShell writes
  // UTF-16.
  if (/[\p{Cc}\ufffd]/u.test(secret)) {
    return unusable('names a file that is not a single line of text in UTF-8', `Correct ${name}: ${CONTENT}`)
  }
  return { kind: 'secret', secret }
}

const CONTENT = 'it holds the client secret in UTF-8 and nothing else.'

const REMEDIES: Readonly<Record<string, readonly [reason: string, remedy: (name: string) => string]>> = {
  ENOENT: [
    'names a file that does not exist',
    (name) => `Create ${name}, or correct the path. In a container, check that the secret is mounted there.`,
  ],
  EISDIR: ['names a folder', (name) => `Name the file in ${name} that holds the secret.`],
  EACCES: [
    'names a file that this process may not read',
    (name) => `Let the user that the server runs as read ${name}, and enter its folders.`,
  ],
}

function unreadable(name: string, code: string | null): SecretFileContent {
  const known = code === 'EPERM' ? REMEDIES.EACCES : code === null ? undefined : REMEDIES[code]
  if (known) return unusable(`${known[0]} (${code})`, known[1](name))
  const detail = code === null ? '' : ` (${code})`
  return unusable(`names a file that cannot be read${detail}`, `Check ${name}, and who may read it.`)
}

function unusable(reason: string, remedy: string): SecretFileContent {
  return { kind: 'unusable', reason, remedy }
}

function problem(reason: string, remedy: string): ClientSecretReading {
  return { named: null, findings: [{ at: AT, reason, remedy }] }
}
