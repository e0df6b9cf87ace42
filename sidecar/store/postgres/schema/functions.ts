import { INSTANCE_FUNCTIONS } from './instance-functions.ts'
import { MESSAGE_FUNCTIONS } from './message-functions.ts'
import { REGISTRY_FUNCTIONS } from './registry-functions.ts'

/**
 * The functions in SQL, put in place anew at each start, after the tables. One that takes other arguments, or gives other columns, than a
 * released one is another function and needs another name: instances of the version before go on to call theirs.
 */
export const FUNCTIONS: readonly string[] = [...REGISTRY_FUNCTIONS, ...INSTANCE_FUNCTIONS, ...MESSAGE_FUNCTIONS]
