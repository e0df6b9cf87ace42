import { register } from 'node:module'

/**
 * Preload this file to run TypeScript in the many processes that tests start. It starts in half of the time of `tsx`,
 * because imports here name whole files, and only the first process compiles a file.
 */
register('./hooks.mjs', import.meta.url)
process.setSourceMapsEnabled(true)
