import { isJsonObject } from '../../config/json/json-object.ts'
import { createSeal } from '../../host/seal.ts'
import type { MeshListener, MeshServer, MeshWeb } from '../server.ts'

/** What ended at one server: all that bears one of the keys and began by then. Milliseconds since 1970. */
export interface Ending {
  readonly keys: readonly string[]
  readonly endedAt: number
  /** How long that has to be remembered. */
  readonly until: number
}

/** The other servers of the same database. What is told while one of them is away does not reach it. */
export interface Peers {
  tell(ending: Ending): void
  /** One at a time; null: nobody. What comes was told by a server that has the secret. */
  listen(onEnding: ((ending: Ending) => void) | null): void
}

/** Target and action of the events. */
const NAME = 'meshcompanion'
/** Of one event: some 1,000 keys. Where there are more, peers find them in the database. */
const MOST_CHARACTERS = 64_000

/**
 * Peers by MeshCentral's event bus. Nothing there says who an event is from, and MeshCentral may hand to a system log what passes by: so
 * it is sealed with the server's secret, which lies in the database that they share. An event that was kept and told again ends nothing
 * that began after its time.
 *
 * @param secret the same at all servers
 * @returns undefined: this server has no peers
 */
export function meshPeers(
  server: Pick<MeshServer, 'multiServer' | 'DispatchEvent' | 'AddEventDispatch' | 'RemoveEventDispatch'>,
  web: MeshWeb,
  secret: string,
): Peers | undefined {
  if (!server.multiServer) return undefined
  const seal = createSeal(secret, 'what ended, for peers')
  let current: MeshListener | undefined
  return {
    tell(ending) {
      const sealed = seal.seal(JSON.stringify(ending), NAME)
      // `nolog` keeps it out of the event log.
      if (sealed.length <= MOST_CHARACTERS) {
        server.DispatchEvent([NAME], web, { action: NAME, ended: sealed, nolog: 1 })
      }
    },
    listen(onEnding) {
      if (current) server.RemoveEventDispatch([NAME], current)
      current = undefined
      if (!onEnding) return
      current = {
        HandleEvent(_source, event) {
          const sealed = isJsonObject(event) && event.action === NAME ? event.ended : undefined
          if (typeof sealed !== 'string' || sealed.length > MOST_CHARACTERS) return
          const text = seal.open(sealed, NAME)
          const ending = text === null ? undefined : readEnding(JSON.parse(text))
          if (ending) onEnding(ending)
        },
      }
      server.AddEventDispatch([NAME], current)
    },
  }
}

/** Undefined: a newer version of this plugin tells it in another way. */
function readEnding(value: unknown): Ending | undefined {
  if (!isJsonObject(value)) return undefined
  const { keys, endedAt, until } = value
  if (!Array.isArray(keys) || typeof endedAt !== 'number' || typeof until !== 'number') return undefined
  return { keys: keys.filter((key) => typeof key === 'string'), endedAt, until }
}
