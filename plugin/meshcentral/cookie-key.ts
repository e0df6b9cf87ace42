import type { Clock } from '../clock.ts'
import { isJsonObject } from '../config/json/json-object.ts'
import { askDatabase } from './database.ts'
import type { MeshServer } from './server.ts'

const ID = 'LoginCookieEncryptionKey'
/** Of 80 bytes, in hexadecimal digits; MeshCentral takes no shorter one. */
const LEAST_DIGITS = 160

/**
 * MeshCentral's key for what it seals, from the moment the plugin is loaded. MeshCentral reads it beside its users, and sets its routes up
 * once it has those: by a database on the network that was seen to come first. Where there is none yet, one is made as MeshCentral makes it.
 *
 * @returns what gives the key; undefined while it is not known
 */
export function earlyCookieKey(
  server: Pick<MeshServer, 'db' | 'loginCookieEncryptionKey' | 'generateCookieKey'>,
  clock: Clock,
): () => Buffer | undefined {
  let early: Buffer | undefined
  askDatabase<unknown>(clock, 'read the key of cookies', (done) => server.db.Get(ID, done)).then(
    (found) => {
      const record: unknown = Array.isArray(found) ? found[0] : undefined
      const key = isJsonObject(record) ? record.key : undefined
      if (typeof key === 'string' && key.length >= LEAST_DIGITS) early = Buffer.from(key, 'hex')
      else if (!server.loginCookieEncryptionKey) {
        early = server.generateCookieKey()
        server.db.Set({ _id: ID, key: early.toString('hex'), time: clock.now() })
      }
    },
    // MeshCentral does not come far without its database either.
    () => undefined,
  )
  return () => server.loginCookieEncryptionKey ?? early
}
