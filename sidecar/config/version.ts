import { createRequire } from 'node:module'

/**
 * The version of the package. Its package.json is found by the package's name instead of a relative path, because
 * source files and built files are at different folder depths.
 */
export const VERSION: string = createRequire(import.meta.url)('mesh-companion/package.json').version
