import { MAX_RECEIVED_ACKS } from '../../../messages/acks/received-acks.ts'
import { LEASE_MS } from '../../../messages/leases.ts'
import { UNPROVEN_MS } from '../../../messages/station.ts'
import { MAX_DEVICES } from '../../../messages/store.ts'
import { readSql } from '../../read-sql.ts'
import { SCHEMA } from '../database/session.ts'

/** The channel on which instances notify each other of changes of the registry. */
export const CHANNEL = SCHEMA

/** A time in milliseconds that is later than any real time. */
export const NEVER = Number.MAX_SAFE_INTEGER

/** The named literals of the SQL files, with values from constants in TypeScript. */
export const LITERALS = { CHANNEL, LEASE_MS, MAX_DEVICES, MAX_RECEIVED_ACKS, NEVER, UNPROVEN_MS } as const

/** The files in `tables/`, in the order in which they are executed. */
const TABLES = [
  'now-ms',
  'clock',
  'station',
  'device',
  'avatar',
  'ring',
  'dropped',
  'station-change',
  'new-station',
  'push-due',
  'ack',
  'ack-sent',
  'instance',
  'lease',
  'keyring',
].map((name) => `tables/${name}`)

/**
 * If arguments or columns of a published function change, rename it, because instances of the previous version call it.
 */
const FUNCTIONS = [
  'registry/take-stamp',
  'registry/note-change',
  'registry/device-refusal',
  'registry/station-refusal',
  'registry/set-avatar',
  'registry/register-stations',
  'registry/oldest-unproven',
  'registry/prove-stations',
  'registry/end-by-token',
  'registry/write-registrations',
  'registry/remove-devices',
  'registry/remove-station',
  'registry/recount-stations',
  'registry/mark-token-dead',
  'instances/note-presence',
  'instances/take-name',
  'instances/leave',
  'instances/hold-leases',
  'messages/is-blocked',
  'messages/append-acks',
  'messages/claim-acks',
  'messages/make-rings',
  'messages/append',
  'messages/try-to-store',
  'messages/read-newer',
  'messages/fit-rings',
  'pushes/claim-pushes',
  'pushes/settle-pushes',
  'pushes/postpone-pushes',
]

const fileOf = (name: string): URL => new URL(`./${name}.sql`, import.meta.url)
const textOf = (file: URL): string => readSql(file, LITERALS)

const TABLE_FILES = TABLES.map(fileOf)
const FUNCTION_FILES = FUNCTIONS.map(fileOf)

/** All files of the schema, in the order in which they are executed. */
export const SCHEMA_FILES: readonly URL[] = [...TABLE_FILES, ...FUNCTION_FILES]

/** The statements that create the tables. */
export const TABLE_TEXTS: readonly string[] = TABLE_FILES.map(textOf)

/** The statements that create or replace the functions. */
export const FUNCTION_TEXTS: readonly string[] = FUNCTION_FILES.map(textOf)
