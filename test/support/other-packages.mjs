import { readFileSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Preload this file to run tests with other versions of some packages: those of the project in the folder
 * `OTHER_PACKAGES`, which replace the repository's. It needs Node.js 22.15 or newer.
 */
const folder = process.env.OTHER_PACKAGES ?? ''
const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
const names = Object.keys(dependencies)
const inFolder = pathToFileURL(join(folder, '/')).href
const { resolve } = createRequire(inFolder)

registerHooks({
  resolve(specifier, context, next) {
    const isReplaced = names.some((name) => specifier === name || specifier.startsWith(`${name}/`))
    if (!isReplaced || context.parentURL?.startsWith(inFolder)) return next(specifier, context)
    // For `require`, the next resolver ignores another `parentURL`.
    if (context.conditions.includes('require'))
      return { url: pathToFileURL(resolve(specifier)).href, format: 'commonjs', shortCircuit: true }
    return next(specifier, { ...context, parentURL: inFolder })
  },
})
