import { vendorUrls } from '../config/rules/preset-rules.ts'
import type { DomainSettings } from '../config/settings.ts'
import { claimedMemberships } from '../login/groups/memberships.ts'
import { azure } from './azure.ts'
import { google } from './google.ts'
import type { Preset, PresetDefinition } from './preset.ts'
import type { VendorAccess } from './vendor-api.ts'

/**
 * All presets. To add one, write a {@link PresetDefinition} in its own file and list it here. Schema, checks, login and
 * options then include it.
 */
export const PRESETS = [google, azure] as const

/** Base URLs that replace those of the vendors. For sovereign clouds and tests. */
export type PresetUrls = {
  readonly [Preset in (typeof PRESETS)[number] as Preset['name']]?: Partial<Preset['urls']>
}

/** Returns the preset with this name. Returns `standard` if there is none. */
export function openPreset(name: string | null, urls: PresetUrls, access: VendorAccess): Preset {
  const definition: PresetDefinition | undefined = PRESETS.find((preset) => preset.name === name)
  return definition ? definition.open(vendorUrls(definition, urls), access) : standard
}

const groupsClaim = ({ groups }: DomainSettings) => groups?.claim ?? 'groups'

/** The behavior without a preset, for any OpenID provider. Reads groups from claims and calls no API of a vendor. */
export const standard: Preset = {
  title: null,
  scopes: () => [],
  groupsClaim,
  claims: (claims) => claims,
  memberships: async (evidence, settings) => claimedMemberships(evidence, groupsClaim(settings)),
}
