import { APPEND, CLAIM_ACKS } from './append-function.ts'
import { CLAIM_PUSHES, PUT_OFF_PUSHES, SETTLE_PUSHES } from './push-functions.ts'
import { READ_SINCE } from './read-functions.ts'
import { FIT_RINGS } from './ring-functions.ts'

/** The functions of messages and their pushes, in SQL. */
export const MESSAGE_FUNCTIONS: readonly string[] = [
  CLAIM_ACKS,
  APPEND,
  READ_SINCE,
  CLAIM_PUSHES,
  SETTLE_PUSHES,
  PUT_OFF_PUSHES,
  FIT_RINGS,
]
