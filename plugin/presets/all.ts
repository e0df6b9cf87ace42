import { azure } from './azure.ts'
import { google } from './google.ts'

/**
 * The presets that there are. To add one, write the file of its name beside this one, a {@link PresetDefinition}, and name it here:
 * schema, checks, callback path, login and the type of the `presets` option follow from it.
 */
export const PRESETS = [google, azure] as const

/** Base URLs that take the place of the vendors' own: sovereign clouds, tests. */
export type PresetUrls = {
  readonly [Preset in (typeof PRESETS)[number] as Preset['name']]?: Partial<Preset['urls']>
}
