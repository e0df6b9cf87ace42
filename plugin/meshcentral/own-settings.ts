import { membersOf } from '../config/json/json-object.ts'
import { canonicalName } from '../config/json/member-name.ts'
import { PRESETS, type PresetUrls } from '../presets/all.ts'
import type { MeshServer } from './server.ts'

/** A pause may be a part of a minute, but not so short that the IdP is flooded, nor so long that it means off. */
const [LEAST, DEFAULT, MOST] = [0.01, 5, 1_440]

/** What `settings.plugins.meshcompanion` says. */
export interface OwnSettings {
  /** `sessionCheckMinutes`. 0: never. */
  readonly sessionCheckMs: number
  /** `presets`: base URLs of vendors, for sovereign clouds. */
  readonly presets: PresetUrls
  /** What is of no use among these. */
  readonly problem: string | undefined
}

/** MeshCentral has made the names lower-case. */
export function readOwnSettings({ config }: Pick<MeshServer, 'config'>): OwnSettings {
  const own = membersOf(membersOf(membersOf(config.settings).plugins).meshcompanion)
  const given = Object.entries({
    sessionCheckMinutes: own.sessioncheckminutes,
    introspectMinutes: own.introspectminutes,
  })
  const [name, value] = given.find(([, minutes]) => minutes !== undefined && minutes !== null) ?? []
  const { minutes, problem } = readCheckMinutes(value, name)
  return { sessionCheckMs: minutes * 60_000, presets: presetUrls(own.presets), problem }
}

/**
 * How often IdPs are asked about sessions in use. A value of no use is told, and does not leave ended sessions open: the default holds.
 *
 * @param name of the member of `settings.plugins.meshcompanion`; it was `introspectMinutes` once
 * @returns minutes; 0 means never
 */
export function readCheckMinutes(
  given: unknown,
  name = 'sessionCheckMinutes',
): { readonly minutes: number; readonly problem?: string } {
  if (given === undefined || given === null) return { minutes: DEFAULT }
  if (typeof given === 'number' && (given === 0 || (given >= LEAST && given <= MOST))) return { minutes: given }
  const problem = `settings.plugins.meshcompanion.${name} has to be 0 (off) or a number of minutes from ${LEAST} to ${MOST}, without quotation marks. It counts as ${DEFAULT}.`
  return { minutes: DEFAULT, problem }
}

function presetUrls(given: unknown): PresetUrls {
  const ofPreset = ({ name, urls }: (typeof PRESETS)[number]) => {
    const known = Object.keys(urls)
    const texts = Object.entries(membersOf(membersOf(given)[name])).flatMap(([written, url]) => {
      const member = canonicalName(written, known)
      return member !== undefined && typeof url === 'string' ? [[member, url] as const] : []
    })
    return [name, Object.fromEntries(texts)] as const
  }
  return Object.fromEntries(PRESETS.map(ofPreset))
}
