import type { Clock } from '../clock.ts'
import { isJsonObject } from '../config/json/json-object.ts'
import { askDatabase } from './database.ts'
import type { MeshServer } from './server.ts'

const ID = 'LoginCookieEncryptionKey'
/** Of 80 bytes, in hexadecimal digits; MeshCentral takes no shorter one. */
const LEAST_DIGITS = 160

export interface CookieKey {
  /** Undefined while it is not known. */
  get(): Buffer | undefined
  /** Whether the database answers in a form that is not known: then nothing is written over what may lie there. */
  isOdd(): boolean
}

/**
 * MeshCentral's key for what it seals, from the moment the plugin is loaded. MeshCentral reads it beside its users, and
 * sets its routes up once it has those: by a database on the network that was seen to come first. Where there is none
 * yet, one is made as MeshCentral makes it.
 */
export function earlyCookieKey(
  server: Pick<MeshServer, 'db' | 'loginCookieEncryptionKey'> & Partial<Pick<MeshServer, 'generateCookieKey'>>,
  clock: Clock,
): CookieKey {
  let early: Buffer | undefined
  let odd = false
  askDatabase<unknown>(clock, 'read the key of cookies', (done) => server.db.Get(ID, done)).then(
    (found) => {
      const record: unknown = Array.isArray(found) ? found[0] : null
      const key = isJsonObject(record) ? (record.key ?? null) : record
      odd = key !== undefined && typeof key !== 'string'
      if (typeof key === 'string' && key.length >= LEAST_DIGITS) early = Buffer.from(key, 'hex')
      else if (!odd && !server.loginCookieEncryptionKey && server.generateCookieKey) {
        early = server.generateCookieKey()
        server.db.Set({ _id: ID, key: early.toString('hex'), time: clock.now() })
      }
    },
    // MeshCentral does not come far without its database either.
    () => undefined,
  )
  return { get: () => server.loginCookieEncryptionKey ?? early, isOdd: () => odd }
}
