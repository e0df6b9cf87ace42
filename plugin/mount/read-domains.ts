import { type ConfigReadOptions, domainReader, type Readings } from '../config/read.ts'
import { PRESETS, type PresetUrls } from '../presets/all.ts'

export interface ReadOptions extends Omit<ConfigReadOptions, 'presets'> {
  /** Replaces base URLs of vendors: for sovereign clouds and tests. */
  readonly presets?: PresetUrls
}

/**
 * Reads a server's whole configuration into frozen settings for each domain, or into all its errors at once. Errors of
 * one domain do not affect another. Never throws on any `config`.
 */
export const readDomains: (config: unknown, options?: ReadOptions) => Readings = domainReader(PRESETS)
