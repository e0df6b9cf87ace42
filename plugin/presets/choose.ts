import { vendorUrls } from '../config/rules/preset-rules.ts'
import { PRESETS, type PresetUrls } from './all.ts'
import type { Preset, PresetDefinition } from './preset.ts'
import { standard } from './standard.ts'
import type { VendorAccess } from './vendor-api.ts'

/** The preset of that name; `standard` where there is none. */
export function choosePreset(name: string | null, urls: PresetUrls, access: VendorAccess): Preset {
  const definition: PresetDefinition | undefined = PRESETS.find((preset) => preset.name === name)
  return definition ? definition.open(vendorUrls(definition, urls), access) : standard
}
