/**
 * Every way in which the API refuses a request: the code on the wire (never renamed or reused), its HTTP status, and
 * what the client's developer reads: what is wrong and what to do.
 */
export const API_ERRORS = {
  invalid_request: { status: 400, message: 'The request is not what this call takes; details says where.' },
  wrong_passcode: { status: 403, message: 'auth is not the APRS passcode of this callsign.' },
  wrong_token: {
    status: 403,
    message:
      "pushToken is missing, or not the one that this station's device without deviceId registered last: send it, or the deviceId of the device to end.",
  },
  reserved: {
    status: 403,
    message: 'This call is that of a service, of bulletins or of the server itself: no station can have it.',
  },
  devices_full: {
    status: 403,
    message:
      'This station has as many devices as one may have: unregister one, or wait until one was silent for 30 days.',
  },
  not_registered: {
    status: 404,
    message: 'This station, or this device of it, is not registered; call /v1/register first.',
  },
  not_found: {
    status: 404,
    message: 'There is no such call; there are /v1/register, /v1/sync, /v1/avatars and /v1/unregister.',
  },
  method_not_allowed: { status: 405, message: 'This call takes another method: the header Allow says which one.' },
  too_large: {
    status: 413,
    message: 'The request is too large: a body has at most 65536 bytes, and all headers together 16384.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'The body must be application/json in UTF-8, without a content encoding.',
  },
  internal: { status: 500, message: 'Something went wrong in the server; try again later.' },
  full: { status: 503, message: 'The server has no room for another station; try again later.' },
  overloaded: {
    status: 503,
    message:
      'The server has too much to do at the moment; try again after the seconds that the header Retry-After says.',
  },
} as const satisfies Readonly<Record<string, { readonly status: number; readonly message: string }>>
export type ApiErrorCode = keyof typeof API_ERRORS

/** One mistake in a request body: JSON path, and a sentence. */
export interface ErrorDetail {
  readonly path: string
  readonly reason: string
}

/** Ends a request with an error answer. Its `message` is the table's; a `cause` goes to the log only. */
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
 * What can go wrong with the store: what it means, and what the operator should do. Codes are never renamed or reused.
 */
export const STORE_FAULTS = {
  database_locked: {
    what: 'Another process has the database open.',
    remedy: 'Stop that process, or give this sidecar a file of its own in "database". Two cannot share one.',
  },
  database_corrupt: {
    what: 'The database file is damaged.',
    remedy:
      'Keep a copy of the file and restore a backup, or move it away to start empty: clients register again at their next heartbeat, within 6 hours.',
  },
  database_foreign: {
    what: 'The file is a SQLite database, but not one of ours.',
    remedy: 'Point "database" at another path. The file was not changed.',
  },
  database_newer: {
    what: 'The database was written by a newer version of the sidecar.',
    remedy: 'Install that version again, or restore the backup made before the upgrade. Nothing was changed in it.',
  },
  database_outdated: {
    what: 'The database was written by a version of the sidecar that is too old to be upgraded.',
    remedy:
      'Nothing was changed in it. Install the version that wrote it again, or point "database" at a new file or schema: apps register again within 6 hours.',
  },
  database_not_writable: {
    what: 'The database file cannot be opened for writing.',
    remedy: 'Let the user that runs the sidecar read and write the file in "database" and the folder it is in.',
  },
  disk_full: {
    what: 'There is no space left for the database.',
    remedy: 'Free space on its disk. Writing goes on by itself as soon as there is some.',
  },
  disk_failing: {
    what: 'The disk refused to read or write the database.',
    remedy: 'Look at the system log for faults of the disk or its file system.',
  },
  sqlite_missing: {
    what: "SQLite's library is missing, or was made for another system, a newer glibc or another version of Node.",
    remedy:
      'Run "npm rebuild sqlite3" where the package is installed: npm fetches what is missing only if it may run install scripts. If the error names GLIBC, fetching brings the same library again: run "npm rebuild sqlite3 --build-from-source", which needs python3, make and a C++ compiler.',
  },
  database_unreachable: {
    what: 'PostgreSQL cannot be reached, or does not answer in time.',
    remedy: 'See that it runs, and that the address in "database" leads to it from this machine.',
  },
  database_refused: {
    what: 'PostgreSQL does not let the sidecar in.',
    remedy:
      'Let the user in "database" connect from this machine: in pg_hba.conf, and by LOGIN and CONNECTION LIMIT of the role. Each instance takes 7 of max_connections.',
  },
  database_password_missing: {
    what: 'PostgreSQL asks for a password, and the sidecar has none.',
    remedy:
      'Set PGPASSWORD in its environment: with the systemd unit, write PGPASSWORD=… into /etc/mesh-companion/database.env, which only root has to read.',
  },
  database_password_wrong: {
    what: 'PostgreSQL does not accept the password, or has no such user: it says the same of both.',
    remedy:
      'Correct the password in PGPASSWORD (or in "database"), and the user in "database". ALTER ROLE … PASSWORD … sets another one.',
  },
  database_role_missing: {
    what: 'PostgreSQL has no such user.',
    remedy: 'Correct the user in "database", or make it: CREATE ROLE … LOGIN PASSWORD ….',
  },
  database_missing: {
    what: 'PostgreSQL has no such database.',
    remedy: `Correct the database's name in "database", after the last slash, or make it: CREATE DATABASE … OWNER … ENCODING 'UTF8'.`,
  },
  database_right_missing: {
    what: 'The user lacks a right in PostgreSQL.',
    remedy:
      'Let the user in "database" own the schema mesh_companion with all that is in it (CREATE SCHEMA mesh_companion AUTHORIZATION …), or let it create that schema (GRANT CREATE ON DATABASE … TO …).',
  },
  database_untrusted: {
    what: 'The way to PostgreSQL is not encrypted, or its certificate is not to be trusted.',
    remedy:
      'Turn TLS on at the server, name the CA of its certificate in "databaseTls.caFile", and use a host name in "database" that the certificate bears. Without TLS only a database on this machine is used.',
  },
  database_read_only: {
    what: 'PostgreSQL takes no writes: a standby, or one that is set so.',
    remedy: 'Have the name in "database" lead to the primary.',
  },
  database_older: {
    what: 'PostgreSQL has gone back behind a failover: an old primary takes writes again.',
    remedy:
      'Stop it, and have "database" lead to the new one. Where you went back on purpose, restart the sidecar: what came since is lost.',
  },
  database_incomplete: {
    what: 'Tables or functions of the sidecar are missing in the database, or were changed.',
    remedy: 'Restore the backup, or what was taken away. Functions alone are put in place again by a restart.',
  },
  database_too_old: {
    what: 'The PostgreSQL server is older than version 15.',
    remedy: 'Upgrade the server, or point "database" at a newer one. Nothing was changed in it.',
  },
  database_pooled: {
    what: 'A pooler in front of PostgreSQL does not keep a session for each connection.',
    remedy:
      'Write "pool_mode = session" and "server_reset_query = DISCARD ALL" for this database in its pgbouncer.ini, or have the address in "database" lead past it.',
  },
  instance_taken: {
    what: 'Another instance that is at work has the same name.',
    remedy: 'Stop it, or give each instance a name of its own in "instance"; without one it is that of the machine.',
  },
  pg_missing: {
    what: "PostgreSQL's client library is missing.",
    remedy: 'Run "npm install pg" where the package is installed: it is optional, for who uses no PostgreSQL.',
  },
  store_overloaded: {
    what: 'More is waiting for the database than it can take.',
    remedy: 'Look for a slow disk, or for a flood of messages or requests. Phones are told to call again later.',
  },
  store_closed: { what: 'The store is closed.', remedy: 'Nothing to do while the sidecar stops.' },
  store_fault: {
    what: 'The database refused a statement.',
    remedy: 'This is a bug in the sidecar: please report it with the log line.',
  },
} as const

export type StoreErrorCode = keyof typeof STORE_FAULTS

/** Thrown by everything in the store; `cause` is what the database or the file system said. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly code: StoreErrorCode
  /** What the operator should do, in a sentence or two. */
  readonly remedy: string

  constructor(code: StoreErrorCode, options?: ErrorOptions) {
    super(STORE_FAULTS[code].what, options)
    this.code = code
    this.remedy = STORE_FAULTS[code].remedy
  }
}
