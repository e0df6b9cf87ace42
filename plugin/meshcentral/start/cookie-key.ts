import type { Clock } from '../../clock.ts'
import { isJsonObject } from '../../config/json/json-object.ts'
import { askDatabase } from '../database.ts'
import type { MeshServer } from '../server.ts'

const ID = 'LoginCookieEncryptionKey'
/** 80 bytes in hexadecimal digits. MeshCentral accepts no shorter key. */
const LEAST_DIGITS = 160

export interface CookieKey {
  /** Returns MeshCentral's key for sealed cookies. Undefined until it was read from the database or created. */
  get(): Buffer | undefined
  /**
   * Whether the database answered in an unknown form. The plugin then creates no key, because the database may already
   * contain one.
   */
  hasUnknownForm(): boolean
}

/**
 * Reads MeshCentral's key for sealed cookies as soon as the plugin is loaded, or creates it as MeshCentral does.
 * MeshCentral itself sets up its routes without the key if a database on the network returns the users first.
 */
export function earlyCookieKey(
  server: Pick<MeshServer, 'db' | 'loginCookieEncryptionKey'> & Partial<Pick<MeshServer, 'generateCookieKey'>>,
  clock: Clock,
): CookieKey {
  let early: Buffer | undefined
  let isUnknown = false
  askDatabase<unknown>(clock, 'read the cookie key', (done) => server.db.Get(ID, done)).then(
    (records) => {
      const record: unknown = Array.isArray(records) ? records[0] : null
      const key = isJsonObject(record) ? (record.key ?? null) : record
      isUnknown = key !== undefined && typeof key !== 'string'
      if (typeof key === 'string' && key.length >= LEAST_DIGITS) early = Buffer.from(key, 'hex')
      else if (!isUnknown && !server.loginCookieEncryptionKey && server.generateCookieKey) {
        early = server.generateCookieKey()
        server.db.Set({ _id: ID, key: early.toString('hex'), time: clock.now() })
      }
    },
    // Ignore the error. MeshCentral itself does not start without its database.
    () => undefined,
  )
  return { get: () => server.loginCookieEncryptionKey ?? early, hasUnknownForm: () => isUnknown }
}
