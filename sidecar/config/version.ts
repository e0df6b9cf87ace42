import { createRequire } from 'node:module'

/**
 * The version of the package. The package's name is used to find its package.json, because source files and built files
 * are at different folder depths.
 */
export const VERSION: string = createRequire(import.meta.url)('mesh-companion/package.json').version
