import { type FoundFiles, keyIdIn } from './found-files.ts'

/** The flags of `--init`. Each answers one question. */
export const INIT_FLAGS = [
  'callsign',
  'port',
  'fcm-key',
  'apns-key',
  'apns-key-id',
  'apns-team-id',
  'apns-topic',
  'webpush-subject',
] as const

export type InitFlag = (typeof INIT_FLAGS)[number]

/** The answers, by the flag of their question. An empty text leaves the setting at its default. */
export type Answers = Partial<Readonly<Record<InitFlag, string>>>

/** A question about one setting. */
export interface Question {
  readonly flag: InitFlag
  /** The JSON path of the setting. */
  readonly path: string
  /** The JSON path of another setting that the answer may conflict with. */
  readonly rival?: string
  readonly text: string
  readonly isFile?: true
  /** The flag of an earlier question. If the earlier question has an empty answer, this question is not asked. */
  readonly dependsOn?: InitFlag
  /** Returns the answer that is used if the operator enters nothing. */
  fallback(files: FoundFiles, answers: Answers): string | undefined
}

const none = (): undefined => undefined

/** The questions in the order in which they are asked. */
export const QUESTIONS: readonly Question[] = [
  {
    flag: 'callsign',
    path: 'aprsis.callsign',
    text: 'Callsign of the sidecar, with an SSID that no other program uses',
    fallback: () => 'N0CALL-10',
  },
  {
    flag: 'port',
    path: 'listen.port',
    rival: 'admin.port',
    text: 'Port of the API',
    fallback: ({ hasCertificate }) => (hasCertificate ? '443' : '8080'),
  },
  {
    flag: 'fcm-key',
    path: 'push.fcm.serviceAccountFile',
    text: "Android: file with the service account's key from Firebase",
    isFile: true,
    fallback: ({ serviceAccount }) => serviceAccount,
  },
  {
    flag: 'apns-key',
    path: 'push.apns.keyFile',
    text: 'iOS: file with the .p8 key from Apple',
    isFile: true,
    fallback: ({ signingKey }) => signingKey,
  },
  {
    flag: 'apns-key-id',
    path: 'push.apns.keyId',
    text: 'iOS: key id',
    dependsOn: 'apns-key',
    fallback: (_files, answers) => keyIdIn(answers['apns-key'] ?? ''),
  },
  { flag: 'apns-team-id', path: 'push.apns.teamId', text: 'iOS: team id', dependsOn: 'apns-key', fallback: none },
  {
    flag: 'apns-topic',
    path: 'push.apns.topic',
    text: "iOS: the app's bundle id, such as org.example.aprs",
    dependsOn: 'apns-key',
    fallback: none,
  },
  {
    flag: 'webpush-subject',
    path: 'push.webpush.subject',
    text: 'Web Push: your address for push services, such as mailto:operator@example.org',
    fallback: none,
  },
]
