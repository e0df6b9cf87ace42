import { membersOf } from '../../config/json/json-object.ts'
import { canonicalName } from '../../config/json/member-name.ts'
import { PRESETS, type PresetUrls } from '../../presets/presets.ts'
import type { MeshServer } from '../server.ts'

/**
 * Least, default and greatest value of the check interval, in minutes. A shorter interval would flood the IdP. A longer
 * one would hardly check at all.
 */
const [LEAST, DEFAULT, MOST] = [0.01, 5, 1_440]

/** The settings in `settings.plugins.meshcompanion`. */
export interface PluginSettings {
  /** `sessionCheckMinutes`, converted to milliseconds. 0 means no checks. */
  readonly sessionCheckMs: number
  /** `loginTokenDays`. Null if login tokens work without a time limit. */
  readonly loginTokenDays: number | null
  /** The member `presets`: base URLs that replace those of the vendors, for sovereign clouds. */
  readonly presets: PresetUrls
  /** The text of a warning about settings with unusable values. Undefined if there are none. */
  readonly problem: string | undefined
}

/** Reads the plugin's settings. MeshCentral has changed the names of the settings to lower case. */
export function readPluginSettings({ config }: Pick<MeshServer, 'config'>): PluginSettings {
  const members = membersOf(membersOf(membersOf(config.settings).plugins).meshcompanion)
  const intervals = Object.entries({
    sessionCheckMinutes: members.sessioncheckminutes,
    introspectMinutes: members.introspectminutes,
  })
  const [name, value] = intervals.find(([, minutes]) => minutes !== undefined && minutes !== null) ?? []
  const { minutes, problem } = readCheckMinutes(value, name)
  const tokens = readLoginTokenDays(members.logintokendays)
  const problems = [problem, tokens.problem].filter((text) => text !== undefined)
  return {
    sessionCheckMs: minutes * 60_000,
    loginTokenDays: tokens.days,
    presets: presetUrls(members.presets),
    problem: problems.length > 0 ? problems.join(' ') : undefined,
  }
}

/**
 * Reads how often to ask the IdPs about sessions in use. An unusable value means the default, not never.
 *
 * @param name the setting's name, for the problem; its old name is `introspectMinutes`
 * @returns minutes; 0 means never
 */
export function readCheckMinutes(
  value: unknown,
  name = 'sessionCheckMinutes',
): { readonly minutes: number; readonly problem?: string } {
  if (value === undefined || value === null) return { minutes: DEFAULT }
  if (typeof value === 'number' && (value === 0 || (value >= LEAST && value <= MOST))) return { minutes: value }
  const problem = `settings.plugins.meshcompanion.${name} must be 0 (off) or a number of minutes from ${LEAST} to ${MOST}, without quotation marks. The default ${DEFAULT} applies.`
  return { minutes: DEFAULT, problem }
}

/** Range of `loginTokenDays`. The minimum replaces an invalid value, because the administrator wanted a limit. */
const [LEAST_DAYS, MOST_DAYS] = [0.01, 3_650]

/**
 * Reads how long login tokens work after the account's last login or renewal at the IdP.
 *
 * @returns days, or null if there is no limit
 */
export function readLoginTokenDays(value: unknown): { readonly days: number | null; readonly problem?: string } {
  if (value === undefined || value === null) return { days: null }
  if (typeof value === 'number' && value >= LEAST_DAYS && value <= MOST_DAYS) return { days: value }
  const problem = `settings.plugins.meshcompanion.loginTokenDays must be null (no limit) or a number of days from ${LEAST_DAYS} to ${MOST_DAYS}, without quotation marks. The shortest limit ${LEAST_DAYS} applies.`
  return { days: LEAST_DAYS, problem }
}

function presetUrls(value: unknown): PresetUrls {
  const ofPreset = ({ name, urls }: (typeof PRESETS)[number]) => {
    const names = Object.keys(urls)
    const texts = Object.entries(membersOf(membersOf(value)[name])).flatMap(([writtenName, url]) => {
      const member = canonicalName(writtenName, names)
      return member !== undefined && typeof url === 'string' ? [[member, url] as const] : []
    })
    return [name, Object.fromEntries(texts)] as const
  }
  return Object.fromEntries(PRESETS.map(ofPreset))
}
