import { type ConfigReadOptions, domainReader, type Readings } from '../config/read.ts'
import { PRESETS, type PresetUrls } from '../presets/presets.ts'

export interface ReadOptions extends Omit<ConfigReadOptions, 'presets'> {
  /** Base URLs that replace those of the vendors. For sovereign clouds and tests. */
  readonly presets?: PresetUrls
}

/**
 * Reads a server's whole configuration. Returns frozen settings for each domain, or all errors at once. One domain's
 * errors do not affect another domain. Never throws, even for a malformed `config`.
 */
export const readDomains: (config: unknown, options?: ReadOptions) => Readings = domainReader(PRESETS)
