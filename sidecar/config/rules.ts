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

/** A rule that the schema cannot state. It runs when the schema found nothing wrong with the members in `needs`. */
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
      remedy: "Give the operator's port a number of its own.",
    },
  ]
}

/**
 * Whether the first host stands for the second one too: `::` does for every address of the machine, `0.0.0.0` for those
 * of IPv4.
 */
function covers({ host }: { readonly host: string }, { host: other }: { readonly host: string }): boolean {
  return host === other || host === '::' || (host === '0.0.0.0' && !isIPv6(other))
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
        "Name the private key that the certificate was made for; the server's own certificate stands first in its file.",
    },
  ]
}

function missingHalf(path: string, given: string): Problem {
  return { path, reason: `is missing, while ${given} is given`, remedy: 'TLS needs both files; give both or neither.' }
}

function passcodeFits({ aprsis }: Settings, { passcodeOf }: Surroundings): readonly Problem[] {
  if (aprsis.passcode === -1 || aprsis.passcode === passcodeOf(aprsis.callsign)) return []
  return [
    {
      path: 'aprsis.passcode',
      reason: 'is not the passcode of aprsis.callsign',
      remedy:
        'Give the passcode that belongs to this callsign, or -1 to log in unverified, which receives but cannot acknowledge.',
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
  // What RFC 3986 allows, and the schema with it, is not always an address: its port may be beyond 65535.
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  if (url?.href === `${url?.origin}/` && url.protocol === 'https:') return []
  return [
    {
      path: 'push.fcm.endpoint',
      reason: 'is not https://host:port',
      remedy: 'Give scheme, host and port only; the client adds the paths, and speaks TLS.',
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
      reason: 'is missing, while push.apns.keyFile is given',
      remedy: 'APNs needs keyFile, keyId, teamId and topic; set keyFile to null to switch APNs off.',
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
      remedy: 'Give an address that a browser takes and the internet reaches, such as mailto:operator@example.org.',
    },
  ]
  const url = URL.canParse(subject) ? new URL(subject) : undefined
  if (!url) return problem('is no address')
  const host = (url.hostname || url.pathname.slice(url.pathname.lastIndexOf('@') + 1)).replace(/^\[|\]$/g, '')
  // Apple refuses each notification that is signed for such an address.
  const isPrivate = isIP(host) === 0 ? isLocalName(host) : !isPublicAddress(host)
  return isPrivate ? problem('is not on the public internet, so push services refuse it') : []
}

/** A file that is missing is made at the start. */
function vapidKeysAreUsable({ push: { webpush }, database }: Settings, { readFile }: Surroundings): readonly Problem[] {
  const file = vapidKeyFile(webpush.keyFile, database)
  if (webpush.subject === null || file === null) return []
  const problem = (what: string, remedy: string) => [
    { path: 'push.webpush.keyFile', reason: `names ${file}, which ${what}`, remedy },
  ]
  try {
    return parseVapidKeys(readFile(file)) ? [] : problem('is not a file with VAPID keys, or is damaged', VAPID_REMEDY)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    // Whether one can be made there is for the start to find out.
    return code === 'ENOENT' || code === 'ENOTDIR' ? [] : problem(`cannot be read (${code})`, READABLE)
  }
}

/**
 * Throws where any certificate of the file is no good: a start would fail over that, too, without saying over which
 * file.
 */
function firstOfChain(text: string): X509Certificate {
  // Files that were joined without a line break between them.
  if (/-----END [A-Z ]+----------BEGIN /.test(text))
    throw new WrongFile(
      'has certificates joined without a line break between them',
      'Put each "-----BEGIN CERTIFICATE-----" on a line of its own.',
    )
  const [first, ...others] = text
    .split(/(?<=-----END [A-Z ]*CERTIFICATE-----)/)
    .filter((pem) => pem.includes('-----BEGIN'))
  for (const other of others) new X509Certificate(other)
  return new X509Certificate(first ?? text)
}

const CERTIFICATE = 'certificate in PEM'
const PRIVATE_KEY = 'private key in PEM without a passphrase'

const READABLE =
  'Check that the file is there and that the server may read it; paths are relative to the configuration file.'

type Loaded<T> = { readonly value: T } | { readonly problem: Problem }

/** Reads and parses a file that the configuration names. Neither problem quotes what is in it. */
function load<T>(
  path: string,
  file: string,
  { readFile }: Surroundings,
  what: string,
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
      error instanceof WrongFile ? error : { reason: `is not a ${what}`, remedy: `Name a file that is a ${what}.` }
    return { problem: { path, reason: `names ${file}, which ${reason}`, remedy } }
  }
}

function problemsOf(...loaded: readonly Loaded<unknown>[]): readonly Problem[] {
  return loaded.flatMap((one) => ('problem' in one ? [one.problem] : []))
}
