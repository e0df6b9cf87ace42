/**
 * A module hook that loads the built files of the plugin instead of its sources, so that a server of the fixtures runs
 * what users run.
 */
const SOURCES = new URL('../../plugin/', import.meta.url).href
const BUILT = new URL('../../dist/plugin/', import.meta.url).href

export async function resolve(specifier, context, next) {
  const resolved = await next(specifier, context)
  if (!resolved.url.startsWith(SOURCES)) return resolved
  // `tsx` may add a query to the address of a source.
  const path = resolved.url.slice(SOURCES.length).replace(/\.ts(\?.*)?$/, '.js')
  return { ...resolved, url: BUILT + path, format: 'module' }
}
