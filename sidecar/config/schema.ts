import { LOG_LEVELS } from '../log.ts'
import { RESERVED_CALLS } from './reserved-calls.ts'

/**
 * JSON Schema of the configuration file, table by table: what is allowed, the defaults, and in `description` what to
 * write, which problems show as their remedy. Numbers carry their unit in the name.
 */
export interface MemberSchema {
  readonly description: string
  readonly type: string | readonly string[]
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, MemberSchema>>
  readonly [keyword: string]: unknown
}

function table(
  description: string,
  properties: Readonly<Record<string, MemberSchema>>,
  required: readonly string[] = [],
): MemberSchema {
  return { description, type: 'object', additionalProperties: false, required, properties }
}

/** A table that may be left out, to be filled with the defaults of its members. */
function section(...parts: Parameters<typeof table>): MemberSchema {
  return { ...table(...parts), default: {} }
}

function port(description: string, fallback: number): MemberSchema {
  return { description, type: 'integer', minimum: 0, maximum: 65535, default: fallback }
}

/**
 * A name, or an address. A single colon is in neither: somebody wrote the port behind it, where it would be looked up
 * with the name.
 */
const HOST_PATTERN = '^([A-Za-z0-9._-]{1,253}|(?=([^:]*:){2})[0-9A-Fa-f:.]{2,45})$'

function host(description: string, fallback: string): MemberSchema {
  return { description, type: 'string', pattern: HOST_PATTERN, default: fallback }
}

/** A path, relative to the folder of the configuration file, or null. */
function file(description: string): MemberSchema {
  return { description, type: ['string', 'null'], minLength: 1, default: null }
}

function text(description: string): MemberSchema {
  return { description, type: ['string', 'null'], pattern: '^[\\x21-\\x7e]{1,255}$', default: null }
}

/** One of Apple's ids, or null. */
function appleId(description: string): MemberSchema {
  return { description, type: ['string', 'null'], pattern: '^[A-Z0-9]{10}$', default: null }
}

function flag(description: string, fallback: boolean): MemberSchema {
  return { description, type: 'boolean', default: fallback }
}

function whole(description: string, minimum: number, maximum: number, fallback: number): MemberSchema {
  return { description, type: 'integer', minimum, maximum, default: fallback }
}

/** Calls, or beginnings of calls with a `*` behind them. */
function calls(description: string, fallback: readonly string[]): MemberSchema {
  const items = {
    description: 'Give a call such as N0CALL or N0CALL-7, or the beginning of some with a * behind it.',
    type: 'string',
    pattern: '^[A-Za-z0-9][A-Za-z0-9-]{0,8}\\*?$',
  }
  return { description, type: 'array', items, maxItems: 1000, default: fallback }
}

/** A length of time, in whatever unit the name says. */
function span(description: string, longest: number, fallback: number): MemberSchema {
  return { description, type: 'number', exclusiveMinimum: 0, maximum: longest, default: fallback }
}

/** Longest time that a setting in hours may name: ten years. */
const LONGEST_HOURS = 87600

const listen = section('The public API.', {
  host: host('Give the address to listen on, such as 127.0.0.1 or 0.0.0.0.', '127.0.0.1'),
  port: port('Give a TCP port; 0 takes any free one.', 8080),
  certFile: file('Name the file with the certificate and its chain in PEM; null for plain HTTP behind a proxy.'),
  keyFile: file('Name the file with the private key of the certificate in PEM.'),
  trustProxy: {
    description:
      'Say whose X-Forwarded-For header to believe: false for nobody, true for whoever connects, or a list of addresses and CIDR ranges.',
    type: ['boolean', 'array'],
    items: {
      description: 'Give an IP address, or a range such as 10.0.0.0/8.',
      type: 'string',
      format: 'address-range',
    },
    maxItems: 100,
    default: false,
  },
})

const admin = section("The operator's port: healthz, readyz, metrics.", {
  host: host('Give the address to listen on; keep it on loopback or a private network.', '127.0.0.1'),
  port: port('Give a TCP port; 0 takes any free one.', 9090),
})

const aprsis = section(
  'The connection to APRS-IS.',
  {
    host: host('Give the host name of an APRS-IS server.', 'rotate.aprs2.net'),
    port: whole('Give the port for client-defined filters, usually 14580.', 1, 65535, 14580),
    callsign: {
      description:
        'Give the call that the server logs in as, with or without SSID, at most 9 characters, such as N0CALL-10.',
      type: 'string',
      pattern: '^(?=.{3,9}$)[A-Za-z0-9]+(-[A-Za-z0-9]{1,2})?$',
    },
    passcode: whole('Give the passcode of aprsis.callsign, or -1 to log in unverified.', -1, 32767, -1),
    maxConnections: whole('Give how many connections the filter may be spread over.', 1, 99, 16),
    trackOutgoing: flag('Say true to receive what the stations send themselves, too.', false),
    filterDebounceMs: whole('Give how long to gather changes before a new filter is sent.', 0, 60_000, 2000),
    listeners: whole('Give how many of the instances that share a PostgreSQL database listen at a time.', 1, 4, 2),
    listen: flag('Say false for an instance that only serves the API and pushes.', true),
  },
  ['callsign'],
)

const databaseTls = section('The way to a PostgreSQL database, encrypted where that is another machine.', {
  caFile: file('Name a file with CA certificates in PEM to trust for the database, or null for the well-known ones.'),
})

const history = section('What is kept per station.', {
  perStation: whole('Give how many messages to keep for each station.', 1, 10_000, 50),
  duplicateMinutes: span(
    'Give for how many minutes an equal message with the same number counts as a retransmission. Senders retry for 30 minutes.',
    LONGEST_HOURS * 60,
    45,
  ),
  duplicateSecondsUnnumbered: span(
    'Give for how many seconds an equal message without a number counts as a copy of the one before.',
    LONGEST_HOURS * 3600,
    30,
  ),
})

const push = section('The push gateways.', {
  coalesceMs: whole('Give how long messages to one station are gathered into one notification.', 0, 600_000, 2000),
  fcm: section('Firebase Cloud Messaging, for Android.', {
    serviceAccountFile: file("Name the service account's JSON key file; null switches FCM off."),
    endpoint: {
      description: "Give https://host:port of a server to use instead of Google's, or null.",
      type: ['string', 'null'],
      format: 'uri',
      default: null,
    },
    caFile: file('Name a file with CA certificates in PEM to trust for push.fcm.endpoint, or null.'),
  }),
  apns: section('Apple Push Notification service, for iOS.', {
    keyFile: file('Name the .p8 signing key file; null switches APNs off.'),
    keyId: appleId('Give the id of the signing key, as Apple shows it: 10 capital letters and digits.'),
    teamId: appleId('Give the id of the developer team, as Apple shows it: 10 capital letters and digits.'),
    topic: text('Give the bundle id of the app.'),
    production: flag("Say false to use Apple's sandbox.", true),
    address: {
      description: "Give the host name of a server to use instead of Apple's, or null.",
      type: ['string', 'null'],
      pattern: HOST_PATTERN,
      default: null,
    },
    port: {
      description: 'Give the port of push.apns.address, or null.',
      type: ['integer', 'null'],
      minimum: 1,
      maximum: 65535,
      default: null,
    },
    caFile: file('Name a file with CA certificates in PEM to trust for push.apns.address, or null.'),
  }),
  webpush: section('Web Push (RFC 8030), for phones without Google.', {
    subject: {
      description:
        'Give an address where push services reach you, such as mailto:operator@example.org or https://example.org/contact; null switches Web Push off.',
      type: ['string', 'null'],
      format: 'uri',
      // The client library has a word to say about localhost at each notification, and Apple refuses it.
      pattern: '^(mailto:[^@]+@[^@]+|https://(?!localhost([:/]|$)).+)$',
      maxLength: 255,
      default: null,
    },
    keyFile: file(
      'Name the file that keeps the VAPID keys, which is made where it is missing; null for one beside the database, and with PostgreSQL for the database itself.',
    ),
    allowPrivate: flag('Say true where phones have their push service in a private network.', false),
    caFile: file(
      'Name a file with CA certificates in PEM to trust for push services beside the well-known ones, or null.',
    ),
  }),
})

const ack = section('The throttle of automatic acknowledgements.', {
  minIntervalMs: whole(
    'Give the least time between two acks for one message: below 30000, so that who repeats after 30 s gets a lost one again.',
    0,
    3_600_000,
    29_000,
  ),
  maxPerSenderPerMinute: whole(
    'Give how many acks one sender may cause at one station in a minute; at all stations together it is ten times that.',
    1,
    1000,
    10,
  ),
})

const rateLimit = section('What one client address may do.', {
  windowMs: whole('Give the length of the window.', 1, 86_400_000, 60_000),
  max: whole('Give how many requests an address has in a window.', 1, 1_000_000_000, 120),
  newStationsPerHour: whole('Give how many new stations an address may register in an hour.', 0, 1_000_000_000, 20),
  connectionsPerAddress: whole('Give how many connections an address may have open.', 1, 1_000_000, 64),
})

const stations = section('The registry.', {
  max: whole('Give how many stations may be registered.', 1, 1_000_000, 5000),
  expireAfterHours: span(
    'Give after how many hours without a register call a station is forgotten; clients call every 6 hours.',
    LONGEST_HOURS,
    720,
  ),
  reserved: calls('List the calls that nobody can register; the own login and its further calls need not be in it.', [
    ...RESERVED_CALLS,
  ]),
  blockedSenders: calls('List the calls whose messages are to be dropped.', []),
})

const backup = section('Copies of the database, once a day and on request.', {
  folder: file('Name the folder for them, or null to make none.'),
  keep: whole('Give how many of the newest to keep.', 1, 10_000, 7),
})

const log = section('The log on stdout.', {
  level: {
    description: 'Choose how much is logged.',
    type: 'string',
    enum: LOG_LEVELS,
    default: 'info',
  },
})

export const SETTINGS_SCHEMA: MemberSchema = table('The whole configuration is one JSON object.', {
  listen,
  admin,
  aprsis,
  database: {
    description:
      'Name the SQLite file, or ":memory:" to keep nothing, or give postgres://USER@HOST/DATABASE for several instances.',
    type: 'string',
    minLength: 1,
    default: 'data/sidecar.sqlite',
  },
  databaseTls,
  instance: {
    description:
      'Give this instance a name of its own: letters, digits, dots, dashes and underscores, 63 at most; null: like the machine.',
    type: ['string', 'null'],
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
    default: null,
  },
  history,
  push,
  ack,
  rateLimit,
  stations,
  backup,
  log,
})
