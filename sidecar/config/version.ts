import { createRequire } from 'node:module'

/** The version of the package. Its package.json is found by name: source and built files differ in depth. */
export const VERSION: string = createRequire(import.meta.url)('mesh-companion/package.json').version
