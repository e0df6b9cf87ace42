import { LOG_FORMATS, LOG_LEVELS } from '../log.ts'
import { RESERVED_CALLSIGNS } from './reserved-callsigns.ts'

/**
 * JSON Schema of one setting or a table. Problems show `description` as remedy. Names of numeric settings end with the
 * unit.
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

/** Returns the schema of a table that may be absent. The settings of an absent table have their defaults. */
function section(...parts: Parameters<typeof table>): MemberSchema {
  return { ...table(...parts), default: {} }
}

function port(description: string, fallback: number): MemberSchema {
  return { description, type: 'integer', minimum: 0, maximum: 65535, default: fallback }
}

/** Pattern of a host name or an IP address. No port may follow: it would be looked up as part of the name. */
const HOST_PATTERN = '^([A-Za-z0-9._-]{1,253}|(?=([^:]*:){2})[0-9A-Fa-f:.]{2,45})$'

function host(description: string, fallback: string): MemberSchema {
  return { description, type: 'string', pattern: HOST_PATTERN, default: fallback }
}

/** Returns the schema of a file path or null. A relative path is relative to the folder of the configuration file. */
function file(description: string): MemberSchema {
  return { description, type: ['string', 'null'], minLength: 1, default: null }
}

function text(description: string): MemberSchema {
  return { description, type: ['string', 'null'], pattern: '^[\\x21-\\x7e]{1,255}$', default: null }
}

/** Returns the schema of a key id or team id from Apple (10 characters), or null. */
function appleId(description: string): MemberSchema {
  return { description, type: ['string', 'null'], pattern: '^[A-Z0-9]{10}$', default: null }
}

function flag(description: string, fallback: boolean): MemberSchema {
  return { description, type: 'boolean', default: fallback }
}

function whole(description: string, minimum: number, maximum: number, fallback: number): MemberSchema {
  return { description, type: 'integer', minimum, maximum, default: fallback }
}

/** Returns the schema of a list of callsigns. A `*` at the end of an entry matches any ending. */
function callsigns(description: string, fallback: readonly string[]): MemberSchema {
  const items = {
    description: 'Write a callsign such as N0CALL or N0CALL-7, or the beginning of callsigns with a * at the end.',
    type: 'string',
    pattern: '^[A-Za-z0-9][A-Za-z0-9-]{0,8}\\*?$',
  }
  return { description, type: 'array', items, maxItems: 1000, default: fallback }
}

/** Returns the schema of a duration. The unit is at the end of the setting's name. */
function span(description: string, longest: number, fallback: number): MemberSchema {
  return { description, type: 'number', exclusiveMinimum: 0, maximum: longest, default: fallback }
}

/** Limit of settings in hours: ten years. */
const MAX_HOURS = 87600

const listen = section('The public API.', {
  host: host('Set it to the address to listen on, such as 127.0.0.1 or 0.0.0.0.', '127.0.0.1'),
  port: port('Set it to a TCP port, or to 0 for any free port.', 8080),
  certFile: file(
    'Set it to the file with the certificate and its chain in PEM, or to null for plain HTTP behind a proxy.',
  ),
  keyFile: file('Set it to the file with the private key of the certificate in PEM.'),
  trustProxy: {
    description:
      'Set it to the peers whose X-Forwarded-For header is trusted: false for none, true for every peer, or a list of addresses and CIDR ranges.',
    type: ['boolean', 'array'],
    items: {
      description: 'Write an IP address, or a range such as 10.0.0.0/8.',
      type: 'string',
      format: 'address-range',
    },
    maxItems: 100,
    default: false,
  },
})

const admin = section("The operator's port: healthz, readyz, metrics.", {
  host: host('Set it to the address to listen on. Keep it on loopback or a private network.', '127.0.0.1'),
  port: port('Set it to a TCP port, or to 0 for any free port.', 9090),
})

const aprsis = section(
  'The connection to APRS-IS.',
  {
    host: host('Set it to the host name of an APRS-IS server.', 'rotate.aprs2.net'),
    port: whole('Set it to the port for client-defined filters, usually 14580.', 1, 65535, 14580),
    callsign: {
      description:
        'Set it to the callsign that the sidecar logs in with, with or without SSID, at most 9 characters, such as N0CALL-10.',
      type: 'string',
      pattern: '^(?=.{3,9}$)[A-Za-z0-9]+(-[A-Za-z0-9]{1,2})?$',
    },
    passcode: whole('Set it to the passcode of aprsis.callsign, or to -1 to log in unverified.', -1, 32767, -1),
    maxConnections: whole('Set it to the number of connections that the filters may use.', 1, 99, 16),
    trackOutgoing: flag("Set it to true to receive the stations' own packets too.", false),
    filterDebounceMs: whole(
      'Set it to the time for which changes are collected before a new filter is sent.',
      0,
      60_000,
      2000,
    ),
    listeners: whole(
      'Set it to how many of the instances that share a PostgreSQL database listen to APRS-IS at a time.',
      1,
      4,
      2,
    ),
    listen: flag('Set it to false for an instance that only serves the API and sends notifications.', true),
  },
  ['callsign'],
)

const databaseTls = section('TLS to a PostgreSQL database on another machine.', {
  caFile: file(
    'Set it to a file with CA certificates in PEM to trust for the database, or to null for the well-known ones.',
  ),
})

const history = section('The message history of each station.', {
  perStation: whole('Set it to the number of messages to keep for each station.', 1, 10_000, 50),
  duplicateMinutes: span(
    'Set it to the minutes within which a repeated message with the same number counts as a retransmission. Senders retry for 30 minutes.',
    MAX_HOURS * 60,
    45,
  ),
  duplicateSecondsUnnumbered: span(
    'Set it to the seconds within which a repeated message without a number counts as a duplicate.',
    MAX_HOURS * 3600,
    30,
  ),
})

const push = section('The push gateways.', {
  coalesceMs: whole(
    'Set it to the time for which messages to one station are collected into one notification.',
    0,
    600_000,
    2000,
  ),
  fcm: section('Firebase Cloud Messaging, for Android.', {
    serviceAccountFile: file("Set it to the service account's JSON key file, or to null to turn FCM off."),
    endpoint: {
      description: "Set it to https://host:port of a server that replaces Google's, or to null.",
      type: ['string', 'null'],
      format: 'uri',
      default: null,
    },
    caFile: file('Set it to a file with CA certificates in PEM to trust for push.fcm.endpoint, or to null.'),
  }),
  apns: section('Apple Push Notification service, for iOS.', {
    keyFile: file('Set it to the .p8 signing key file, or to null to turn APNs off.'),
    keyId: appleId('Set it to the id of the signing key, as Apple shows it: 10 capital letters and digits.'),
    teamId: appleId('Set it to the id of the developer team, as Apple shows it: 10 capital letters and digits.'),
    topic: text('Set it to the bundle id of the app.'),
    production: flag("Set it to false to use Apple's sandbox.", true),
    address: {
      description: "Set it to the host name of a server that replaces Apple's, or to null.",
      type: ['string', 'null'],
      pattern: HOST_PATTERN,
      default: null,
    },
    port: {
      description: 'Set it to the port of push.apns.address, or to null.',
      type: ['integer', 'null'],
      minimum: 1,
      maximum: 65535,
      default: null,
    },
    caFile: file('Set it to a file with CA certificates in PEM to trust for push.apns.address, or to null.'),
  }),
  webpush: section('Web Push (RFC 8030), for phones without Google.', {
    subject: {
      description:
        'Set it to an address where push services can reach you, such as mailto:operator@example.org or https://example.org/contact, or to null to turn Web Push off.',
      type: ['string', 'null'],
      format: 'uri',
      // If `subject` names localhost, the client library logs a warning at each notification, and Apple refuses the
      // notification.
      pattern: '^(mailto:[^@]+@[^@]+|https://(?!localhost([:/]|$)).+)$',
      maxLength: 255,
      default: null,
    },
    keyFile: file(
      'Set it to the file for the VAPID keys. With a SQLite database, the sidecar creates the file if it is missing. Null keeps the keys in a file beside the SQLite database, or in PostgreSQL.',
    ),
    allowPrivate: flag('Set it to true if push services of phones are in a private network.', false),
    caFile: file(
      'Set it to a file with CA certificates in PEM to trust for push services in addition to the well-known ones, or to null.',
    ),
  }),
})

const ack = section('The throttle of automatic acknowledgements.', {
  minIntervalMs: whole(
    'Set it to the least time between two acks for one message. Keep it below 30000, so that a sender that repeats after 30 s gets another ack.',
    0,
    3_600_000,
    29_000,
  ),
  maxPerSenderPerMinute: whole(
    'Set it to the number of acks that one sender may cause at one station in a minute. At all stations together, a sender may cause ten times as many.',
    1,
    1000,
    10,
  ),
})

const rateLimit = section('Limits per client address.', {
  windowMs: whole('Set it to the milliseconds within which rateLimit.max requests are allowed.', 1, 86_400_000, 60_000),
  max: whole(
    'Set it to the number of requests that an address may send within rateLimit.windowMs.',
    1,
    1_000_000_000,
    120,
  ),
  newStationsPerHour: whole(
    'Set it to the number of new stations that an address may register in an hour.',
    0,
    1_000_000_000,
    20,
  ),
  connectionsPerAddress: whole('Set it to the number of connections that an address may have open.', 1, 1_000_000, 64),
})

const stations = section('The registry.', {
  max: whole('Set it to the number of stations that may be registered.', 1, 1_000_000, 5000),
  expireAfterHours: span(
    'Set it to the hours after which a station that does not register expires. Clients register every 6 hours.',
    MAX_HOURS,
    720,
  ),
  reserved: callsigns(
    'List the callsigns that no station can register. The sidecar adds the callsigns of its own logins.',
    [...RESERVED_CALLSIGNS],
  ),
  blockedSenders: callsigns('List the callsigns whose messages are dropped.', []),
})

const backup = section('Backups of the database, once a day and on request.', {
  folder: file('Set it to the folder for backups, or to null to turn them off.'),
  keep: whole('Set it to the number of backups to keep.', 1, 10_000, 7),
})

const log = section('The log on stdout.', {
  level: {
    description: 'Set it to the level from which lines are logged.',
    type: 'string',
    enum: LOG_LEVELS,
    default: 'info',
  },
  format: {
    description: 'Set it to json for programs, to text for people, or to auto: text on a terminal, json otherwise.',
    type: 'string',
    enum: LOG_FORMATS,
    default: 'auto',
  },
})

export const SETTINGS_SCHEMA: MemberSchema = table('The whole configuration is one JSON object.', {
  listen,
  admin,
  aprsis,
  database: {
    description:
      'Set it to a SQLite file, to ":memory:" to keep nothing, or to postgres://USER@HOST/DATABASE for several instances.',
    type: 'string',
    minLength: 1,
    default: 'data/sidecar.sqlite',
  },
  databaseTls,
  instance: {
    description:
      'Set it to a name that no other instance has: at most 63 letters, digits, dots, dashes and underscores. Set it to null for the host name of the machine.',
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
