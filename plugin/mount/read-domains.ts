import { type ConfigReadOptions, domainReader, type Readings } from '../config/read.ts'
import { PRESETS, type PresetUrls } from '../presets/all.ts'

export interface ReadOptions extends Omit<ConfigReadOptions, 'presets'> {
  /** Base URLs that take the place of the vendors' own: sovereign clouds, tests. */
  readonly presets?: PresetUrls
}

/**
 * A server's whole configuration to the settings of each domain's strategy, or everything that is wrong with it at
 * once. One domain's mistakes never touch another. Never throws on any `config`; the result is frozen.
 */
export const readDomains: (config: unknown, options?: ReadOptions) => Readings = domainReader(PRESETS)
