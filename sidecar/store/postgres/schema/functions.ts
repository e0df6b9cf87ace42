import { APPEND, CLAIM_ACKS } from './append-function.ts'
import { INSTANCE_FUNCTIONS } from './instance-functions.ts'
import { CLAIM_PUSHES, PUT_OFF_PUSHES, SETTLE_PUSHES } from './push-functions.ts'
import { READ_SINCE } from './read-functions.ts'
import { REGISTRY_FUNCTIONS } from './registry-functions.ts'
import { FIT_RINGS } from './ring-functions.ts'

/** The functions of messages and their pushes, in SQL. */
const MESSAGE_FUNCTIONS: readonly string[] = [
  CLAIM_ACKS,
  APPEND,
  READ_SINCE,
  CLAIM_PUSHES,
  SETTLE_PUSHES,
  PUT_OFF_PUSHES,
  FIT_RINGS,
]

/**
 * The functions in SQL, put in place anew at each start, after the tables. One that takes other arguments, or gives other columns, than a
 * released one is another function and needs another name: instances of the version before go on to call theirs.
 */
export const FUNCTIONS: readonly string[] = [...REGISTRY_FUNCTIONS, ...INSTANCE_FUNCTIONS, ...MESSAGE_FUNCTIONS]
