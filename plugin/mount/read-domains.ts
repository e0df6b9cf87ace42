import { type ConfigReadOptions, domainReader, type Readings } from '../config/read.ts'
import { PRESETS, type PresetUrls } from '../presets/presets.ts'

export interface ReadOptions extends Omit<ConfigReadOptions, 'presets'> {
  /** Base URLs that replace those of the vendors. For sovereign clouds and tests. */
  readonly presets?: PresetUrls
}

/**
 * Reads a server's configuration: for each domain, frozen settings or all errors. Never throws, even for a malformed
 * `config`.
 */
export const readDomains: (config: unknown, options?: ReadOptions) => Readings = domainReader(PRESETS)
