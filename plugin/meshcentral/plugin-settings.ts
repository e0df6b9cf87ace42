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
  /** `loginTokenDays`. Null: login tokens work without limit. */
  readonly loginTokenDays: number | null
  /** `presets`: base URLs of vendors, for sovereign clouds. */
  readonly presets: PresetUrls
  /** What is of no use among these. */
  readonly problem: string | undefined
}

/** MeshCentral has made the names lower-case. */
export function readPluginSettings({ config }: Pick<MeshServer, 'config'>): OwnSettings {
  const own = membersOf(membersOf(membersOf(config.settings).plugins).meshcompanion)
  const given = Object.entries({
    sessionCheckMinutes: own.sessioncheckminutes,
    introspectMinutes: own.introspectminutes,
  })
  const [name, value] = given.find(([, minutes]) => minutes !== undefined && minutes !== null) ?? []
  const { minutes, problem } = readCheckMinutes(value, name)
  const tokens = readLoginTokenDays(own.logintokendays)
  const problems = [problem, tokens.problem].filter((one) => one !== undefined)
  return {
    sessionCheckMs: minutes * 60_000,
    loginTokenDays: tokens.days,
    presets: presetUrls(own.presets),
    problem: problems.length > 0 ? problems.join(' ') : undefined,
  }
}

/**
 * How often IdPs are asked about sessions in use. A value of no use is told, and does not leave ended sessions open:
 * the default holds.
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

/** Somebody wanted a limit, so a value of no use counts as the shortest one and not as none. */
const [LEAST_DAYS, MOST_DAYS] = [0.01, 3_650]

/**
 * How long login tokens work after the account's last login or renewal at the IdP.
 *
 * @returns days; null: without limit
 */
export function readLoginTokenDays(given: unknown): { readonly days: number | null; readonly problem?: string } {
  if (given === undefined || given === null) return { days: null }
  if (typeof given === 'number' && given >= LEAST_DAYS && given <= MOST_DAYS) return { days: given }
  const problem = `settings.plugins.meshcompanion.loginTokenDays has to be null (no limit) or a number of days from ${LEAST_DAYS} to ${MOST_DAYS}, without quotation marks. It counts as ${LEAST_DAYS}.`
  return { days: LEAST_DAYS, problem }
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
