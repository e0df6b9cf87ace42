/** The errors of the API by code. Codes are never renamed or reused. `message` is for the app's developer. */
export const API_ERRORS = {
  invalid_request: {
    status: 400,
    message: 'The request does not match what this endpoint accepts; details lists the mistakes.',
  },
  wrong_passcode: { status: 403, message: 'auth is not the APRS-IS passcode of this callsign.' },
  wrong_token: {
    status: 403,
    message:
      'pushToken is missing, or is not the token that the device without deviceId registered last; send that token, or the deviceId of the device to unregister.',
  },
  reserved: {
    status: 403,
    message:
      'This callsign is reserved for a service, for bulletins or for the server itself; register with another callsign or SSID.',
  },
  devices_full: {
    status: 403,
    message:
      'This station has the maximum number of devices; unregister one, or wait until one has not registered for 30 days.',
  },
  not_registered: {
    status: 404,
    message: 'This station, or this device of it, is not registered; send a request to /v1/register first.',
  },
  not_found: {
    status: 404,
    message: 'There is no such endpoint; use /v1/register, /v1/sync, /v1/avatars or /v1/unregister.',
  },
  method_not_allowed: {
    status: 405,
    message: 'This endpoint does not accept the method; use the one that the header Allow names.',
  },
  too_large: {
    status: 413,
    message: 'The request is too large; a body may have 65536 bytes, and all headers together 16384.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'The body must be application/json in UTF-8, without a content encoding.',
  },
  internal: { status: 500, message: 'The server failed to process the request; try again later.' },
  full: { status: 503, message: 'The server has no room for another station; try again later.' },
  overloaded: {
    status: 503,
    message: 'The server is overloaded; try again after the number of seconds in the header Retry-After.',
  },
} as const satisfies Readonly<Record<string, { readonly status: number; readonly message: string }>>
export type ApiErrorCode = keyof typeof API_ERRORS

/** A mistake in a request body: its JSON path, and a sentence that explains it. */
export interface ErrorDetail {
  readonly path: string
  readonly reason: string
}

/**
 * An error that ends a request with an error answer. Its `message` comes from {@link API_ERRORS}. A `cause` is only
 * logged.
 */
export class ApiError extends Error {
  readonly code: ApiErrorCode
  readonly details: readonly ErrorDetail[]

  constructor(code: ApiErrorCode, details: readonly ErrorDetail[] = []) {
    super(API_ERRORS[code].message)
    this.name = 'ApiError'
    this.code = code
    this.details = details
  }
}

/**
 * The faults of the store by code. `what` says what happened; `remedy` tells the operator what to do. Codes are never
 * renamed or reused.
 */
export const STORE_FAULTS = {
  database_locked: {
    what: 'Another process has opened the database file.',
    remedy: 'Stop that process, or set "database" to another file. Two sidecars cannot share one file.',
  },
  database_corrupt: {
    what: 'The database file is damaged.',
    remedy:
      'Keep a copy of the file and restore a backup with --restore. Without a backup, move the file away to start with an empty database: apps register again within 6 hours.',
  },
  database_foreign: {
    what: 'The file in "database" is a SQLite database of another program.',
    remedy: 'Set "database" to another path. The file was not changed.',
  },
  database_newer: {
    what: 'The database was written by a newer version of the sidecar.',
    remedy: 'Install that version again, or restore the backup made before the upgrade. The database was not changed.',
  },
  database_outdated: {
    what: 'The database was written by a version of the sidecar that is too old to be upgraded.',
    remedy:
      'Install the version that wrote it again, or set "database" to a new file or schema: apps register again within 6 hours. The database was not changed.',
  },
  database_not_writable: {
    what: 'The database file cannot be opened for writing.',
    remedy: 'Give the user that runs the sidecar read and write access to the file in "database" and to its folder.',
  },
  disk_full: {
    what: 'The disk of the database is full.',
    remedy: 'Free space on the disk. The sidecar then writes again without a restart.',
  },
  disk_failing: {
    what: 'The disk failed to read or write the database.',
    remedy: 'Check the system log for faults of the disk or its file system.',
  },
  sqlite_missing: {
    what: 'The SQLite library is missing, or was built for another system, a newer glibc or another version of Node.js.',
    remedy:
      'Use the package of the sidecar for this system and processor. In an installation by npm, run "npm rebuild sqlite3" with install scripts allowed. If the error names GLIBC, that downloads the same library again: run "npm rebuild sqlite3 --build-from-source", which needs python3, make and a C++ compiler.',
  },
  database_unreachable: {
    what: 'PostgreSQL cannot be reached, or does not answer in time.',
    remedy: 'Check that PostgreSQL runs, and that this machine can reach the address in "database".',
  },
  database_refused: {
    what: 'PostgreSQL refuses the connection.',
    remedy:
      'Allow the user in "database" to connect from this machine: check pg_hba.conf, and LOGIN and CONNECTION LIMIT of the role. Each instance needs 7 of max_connections.',
  },
  database_password_missing: {
    what: 'PostgreSQL asks for a password, and the sidecar has none.',
    remedy:
      'Set PGPASSWORD in the environment of the sidecar. With the systemd unit, write PGPASSWORD=… to /etc/mesh-companion/database.env, readable by root only.',
  },
  database_password_wrong: {
    what: 'PostgreSQL does not accept the password, or has no such user. Its answer is the same for both.',
    remedy:
      'Correct the user in "database", and the password in PGPASSWORD (or in "database"). ALTER ROLE … PASSWORD … sets a new password.',
  },
  database_role_missing: {
    what: 'PostgreSQL has no such user.',
    remedy: 'Correct the user in "database", or create it: CREATE ROLE … LOGIN PASSWORD ….',
  },
  database_missing: {
    what: 'PostgreSQL has no such database.',
    remedy: `Correct the name of the database in "database", after the last slash, or create it: CREATE DATABASE … OWNER … ENCODING 'UTF8'.`,
  },
  database_right_missing: {
    what: 'The PostgreSQL user lacks a privilege.',
    remedy:
      'Make the user in "database" the owner of the schema mesh_companion and of everything in it (CREATE SCHEMA mesh_companion AUTHORIZATION …), or allow it to create that schema (GRANT CREATE ON DATABASE … TO …).',
  },
  database_untrusted: {
    what: 'The connection to PostgreSQL is not encrypted, or its certificate is not trusted.',
    remedy:
      'Enable TLS on the server, set "databaseTls.caFile" to the CA of its certificate, and use a host name of the certificate in "database". Without TLS, the sidecar only uses a database on the same machine.',
  },
  database_read_only: {
    what: 'PostgreSQL accepts no writes: it is a standby, or is set to read-only.',
    remedy: 'Make the host name in "database" resolve to the primary.',
  },
  database_older: {
    what: 'PostgreSQL has an older timeline than the sidecar has seen before: after a failover, the old primary accepts writes again.',
    remedy:
      'Stop the old primary, and set "database" to the address of the new one. If you returned to the old primary on purpose, or created the server again, restart all instances: what only the new primary stored is lost.',
  },
  database_incomplete: {
    what: 'Tables or functions of the sidecar are missing in the database, or were changed.',
    remedy: 'If only functions are missing, restart the sidecar: it creates them again. Otherwise restore a backup.',
  },
  database_too_old: {
    what: 'The PostgreSQL server is older than version 15.',
    remedy: 'Upgrade the server, or set "database" to a newer one. The database was not changed.',
  },
  database_pooled: {
    what: 'A connection pooler in front of PostgreSQL does not keep one session per connection.',
    remedy:
      'Set "pool_mode = session" and "server_reset_query = DISCARD ALL" for this database in pgbouncer.ini, or set "database" to the address of PostgreSQL itself.',
  },
  instance_taken: {
    what: 'Another running instance has the same name.',
    remedy:
      'Stop that instance, or set "instance" to a different name on each machine. The default is the host name of the machine.',
  },
  pg_missing: {
    what: 'The client library of PostgreSQL is missing.',
    remedy: 'Run "npm install pg@8" where the package is installed. Only a sidecar on PostgreSQL needs it.',
  },
  store_overloaded: {
    what: 'Too many writes wait for the database.',
    remedy:
      'Check for a slow disk, and for a flood of messages or requests. Until then, the API asks phones to retry later.',
  },
  store_closed: {
    what: 'The store is closed.',
    remedy: 'If the sidecar is stopping, no action is needed. Otherwise restart it.',
  },
  store_fault: {
    what: 'The database refused a statement.',
    remedy: 'This is a bug in the sidecar: please report it with this log line.',
  },
} as const

export type StoreErrorCode = keyof typeof STORE_FAULTS

/** A failure of the store. `cause` is the error of the database or the file system. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly code: StoreErrorCode
  /** Instructions for the operator, in one or two sentences. */
  readonly remedy: string

  constructor(code: StoreErrorCode, options?: ErrorOptions) {
    super(STORE_FAULTS[code].what, options)
    this.code = code
    this.remedy = STORE_FAULTS[code].remedy
  }
}
