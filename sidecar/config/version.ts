import { createRequire } from 'node:module'

/**
 * The version of the package. Its package.json is found by name, because sources and build are at different folder
 * depths.
 */
export const VERSION: string = createRequire(import.meta.url)('mesh-companion/package.json').version
