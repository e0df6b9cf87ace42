import { createRequire } from 'node:module'

/** The package's version. Read through the package's own name, since sources and build lie at different depths. */
export const VERSION: string = createRequire(import.meta.url)('mesh-companion/package.json').version
