import { createPrivateKey, X509Certificate } from 'node:crypto'
import { isIP, isIPv6 } from 'node:net'
import { isLocalName, isPublicAddress } from './address-scope.ts'
import { addressIsReadable, backupsAreOfAFile, listenersCarryAll, vapidKeysAreShared } from './database-rules.ts'
import type { Problem } from './problem.ts'
import { parseServiceAccount, parseSigningKey } from './push-keys.ts'
import type { Settings } from './settings.ts'
import type { Surroundings } from './surroundings.ts'
import { parseVapidKeys, VAPID_REMEDY, vapidKeyFile } from './vapid-keys.ts'
import { WrongFile } from './wrong-file.ts'

/**
 * A rule that the schema cannot express. It runs only if the schema found no mistake in the settings listed in `needs`.
 */
export interface Rule {
  readonly needs: readonly string[]
  check(settings: Settings, around: Surroundings): readonly Problem[]
}

export const RULES: readonly Rule[] = [
  { needs: ['listen.host', 'listen.port', 'admin.host', 'admin.port'], check: portsDiffer },
  { needs: ['listen.certFile', 'listen.keyFile'], check: certificateIsComplete },
  { needs: ['aprsis.callsign', 'aprsis.passcode'], check: passcodeFits },
  { needs: ['push.fcm.serviceAccountFile'], check: serviceAccountIsUsable },
  { needs: ['push.fcm.endpoint'], check: endpointIsHttps },
  {
    needs: ['push.fcm.caFile'],
    check: ({ push }, around) => authoritiesAreUsable('push.fcm.caFile', push.fcm.caFile, around),
  },
  { needs: ['push.apns.keyFile'], check: apnsKeyIsUsable },
  { needs: ['push.apns'], check: apnsIsComplete },
  {
    needs: ['push.apns.caFile'],
    check: ({ push }, around) => authoritiesAreUsable('push.apns.caFile', push.apns.caFile, around),
  },
  { needs: ['push.webpush.subject'], check: subjectIsAddress },
  { needs: ['push.webpush', 'database'], check: vapidKeysAreUsable },
  { needs: ['push.webpush', 'database'], check: vapidKeysAreShared },
  { needs: ['backup', 'database'], check: backupsAreOfAFile },
  {
    needs: ['push.webpush.caFile'],
    check: ({ push }, around) => authoritiesAreUsable('push.webpush.caFile', push.webpush.caFile, around),
  },
  { needs: ['database'], check: addressIsReadable },
  {
    needs: ['databaseTls.caFile'],
    check: ({ databaseTls }, around) => authoritiesAreUsable('databaseTls.caFile', databaseTls.caFile, around),
  },
  { needs: ['database', 'aprsis.listeners', 'stations.max'], check: listenersCarryAll },
]

function portsDiffer({ listen, admin }: Settings): readonly Problem[] {
  if (listen.port === 0 || listen.port !== admin.port || !(covers(listen, admin) || covers(admin, listen))) return []
  return [
    {
      path: 'admin.port',
      reason: 'is the same as listen.port on the same address',
      remedy: 'Set admin.port to another port.',
    },
  ]
}

/**
 * Returns whether the first host includes the second. `::` stands for all addresses of the machine, and `0.0.0.0` for
 * all its IPv4 addresses.
 */
function covers({ host }: { readonly host: string }, { host: second }: { readonly host: string }): boolean {
  return host === second || host === '::' || (host === '0.0.0.0' && !isIPv6(second))
}

function certificateIsComplete({ listen }: Settings, around: Surroundings): readonly Problem[] {
  const { certFile, keyFile } = listen
  if (certFile === null && keyFile === null) return []
  if (certFile === null) return [missingHalf('listen.certFile', 'listen.keyFile')]
  if (keyFile === null) return [missingHalf('listen.keyFile', 'listen.certFile')]
  const certificate = load('listen.certFile', certFile, around, CERTIFICATE, firstOfChain)
  const key = load('listen.keyFile', keyFile, around, PRIVATE_KEY, createPrivateKey)
  if ('problem' in certificate || 'problem' in key) return problemsOf(certificate, key)
  if (certificate.value.checkPrivateKey(key.value)) return []
  return [
    {
      path: 'listen.keyFile',
      reason: 'is not the key of the certificate in listen.certFile',
      remedy:
        "Set it to the private key of the certificate. In listen.certFile, the server's own certificate must be the first.",
    },
  ]
}

function missingHalf(path: string, otherPath: string): Problem {
  return { path, reason: `is missing, while ${otherPath} is set`, remedy: 'TLS needs both files. Set both or neither.' }
}

function passcodeFits({ aprsis }: Settings, { passcodeOf }: Surroundings): readonly Problem[] {
  if (aprsis.passcode === -1 || aprsis.passcode === passcodeOf(aprsis.callsign)) return []
  return [
    {
      path: 'aprsis.passcode',
      reason: 'is not the passcode of aprsis.callsign',
      remedy:
        'Set it to the passcode of this callsign, or to -1 to log in unverified, which receives messages but cannot send acks.',
    },
  ]
}

function serviceAccountIsUsable({ push }: Settings, around: Surroundings): readonly Problem[] {
  const { serviceAccountFile: file } = push.fcm
  if (file === null) return []
  return problemsOf(load('push.fcm.serviceAccountFile', file, around, 'key file', parseServiceAccount))
}

function endpointIsHttps({ push }: Settings): readonly Problem[] {
  const { endpoint } = push.fcm
  if (endpoint === null) return []
  // The schema allows every URI of RFC 3986. `URL` cannot parse some of them, such as one with a port above 65535.
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  if (url?.href === `${url?.origin}/` && url.protocol === 'https:') return []
  return [
    {
      path: 'push.fcm.endpoint',
      reason: 'is not https://host:port',
      remedy: 'Set it to https://host:port only, without a path. The sidecar adds the paths.',
    },
  ]
}

function apnsKeyIsUsable({ push }: Settings, around: Surroundings): readonly Problem[] {
  if (push.apns.keyFile === null) return []
  return problemsOf(load('push.apns.keyFile', push.apns.keyFile, around, 'key file', parseSigningKey))
}

function apnsIsComplete({ push }: Settings): readonly Problem[] {
  const { apns } = push
  if (apns.keyFile === null) return []
  return (['keyId', 'teamId', 'topic'] as const)
    .filter((name) => apns[name] === null)
    .map((name) => ({
      path: `push.apns.${name}`,
      reason: 'is missing, while push.apns.keyFile is set',
      remedy: 'Set it, or set push.apns.keyFile to null to turn APNs off.',
    }))
}

function authoritiesAreUsable(path: string, file: string | null, around: Surroundings): readonly Problem[] {
  return file === null ? [] : problemsOf(load(path, file, around, CERTIFICATE, firstOfChain))
}

function subjectIsAddress({ push }: Settings): readonly Problem[] {
  const { subject } = push.webpush
  if (subject === null) return []
  const problem = (reason: string) => [
    {
      path: 'push.webpush.subject',
      reason,
      remedy:
        'Set it to an address that browsers accept and the internet can reach, such as mailto:operator@example.org.',
    },
  ]
  const url = URL.canParse(subject) ? new URL(subject) : undefined
  if (!url) return problem('is not an address')
  const host = (url.hostname || url.pathname.slice(url.pathname.lastIndexOf('@') + 1)).replace(/^\[|\]$/g, '')
  // Apple refuses every Web Push notification if the host of `subject` is not on the public internet.
  const isPrivate = isIP(host) === 0 ? isLocalName(host) : !isPublicAddress(host)
  return isPrivate ? problem('is not on the public internet, so push services refuse it') : []
}

/** Checks the file with the VAPID keys. The file may be missing, because a start creates it. */
function vapidKeysAreUsable({ push: { webpush }, database }: Settings, { readFile }: Surroundings): readonly Problem[] {
  const file = vapidKeyFile(webpush.keyFile, database)
  if (webpush.subject === null || file === null) return []
  const problem = (fault: string, remedy: string) => [
    { path: 'push.webpush.keyFile', reason: `names ${file}, which ${fault}`, remedy },
  ]
  try {
    return parseVapidKeys(readFile(file)) ? [] : problem('is not a file with VAPID keys, or is damaged', VAPID_REMEDY)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    // If a missing file cannot be created, the start reports that.
    return code === 'ENOENT' || code === 'ENOTDIR' ? [] : problem(`cannot be read (${code})`, READABLE)
  }
}

/**
 * Returns the first certificate of a file. Throws if any certificate in the file is invalid, because otherwise the
 * start would fail without naming the file.
 */
function firstOfChain(text: string): X509Certificate {
  // In some files, the certificates were joined without a line break between them.
  if (/-----END [A-Z ]+----------BEGIN /.test(text))
    throw new WrongFile(
      'has certificates joined without a line break between them',
      'Put each "-----BEGIN CERTIFICATE-----" on a line of its own.',
    )
  const [first, ...rest] = text
    .split(/(?<=-----END [A-Z ]*CERTIFICATE-----)/)
    .filter((pem) => pem.includes('-----BEGIN'))
  for (const pem of rest) new X509Certificate(pem)
  return new X509Certificate(first ?? text)
}

const CERTIFICATE = 'certificate in PEM'
const PRIVATE_KEY = 'private key in PEM without a passphrase'

const READABLE =
  'Check that the file exists and that the sidecar may read it. Paths are relative to the configuration file.'

type Loaded<T> = { readonly value: T } | { readonly problem: Problem }

/** Reads and parses a file that the configuration names. A returned problem does not quote the file's content. */
function load<T>(
  path: string,
  file: string,
  { readFile }: Surroundings,
  kind: string,
  parse: (text: string) => T,
): Loaded<T> {
  let text: string
  try {
    text = readFile(file)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    return {
      problem: {
        path,
        reason: `names ${file}, which cannot be read (${code})`,
        remedy: READABLE,
      },
    }
  }
  try {
    return { value: parse(text) }
  } catch (error) {
    const { reason, remedy } =
      error instanceof WrongFile ? error : { reason: `is not a ${kind}`, remedy: `Set it to a file with a ${kind}.` }
    return { problem: { path, reason: `names ${file}, which ${reason}`, remedy } }
  }
}

function problemsOf(...loaded: readonly Loaded<unknown>[]): readonly Problem[] {
  return loaded.flatMap((result) => ('problem' in result ? [result.problem] : []))
}
