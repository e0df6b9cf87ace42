import type { Log } from '../log.ts'
import type { HostApp } from '../routes/route-table.ts'
import type { RoutePaths } from '../routes/strategy.ts'
import { layersOf, nestedLayers, type RouterLayer } from './router-layers.ts'

/** A path for which no server has a page. A route that matches it is a general one, which is not reported. */
const NO_PAGE = 'no-page-of-this-server'

/**
 * Warns about earlier routes at the plugin's paths, which Express calls instead. For example, the server's `/logout`
 * would not sign out at the IdP.
 *
 * Detects `app.get`, `app.post` and `app.all`, also on routers, but not `app.use`, whose handlers may pass requests on.
 */
export function warnOfShadowedRoutes(app: HostApp, domains: Iterable<RoutePaths>, log: Log): void {
  const layers = layersOf(app)
  const shadowed = new Set<string>()
  for (const { base, login, all } of new Set(domains)) {
    for (const path of all) {
      if (path !== login && hasRoute(layers, path, base + NO_PAGE)) shadowed.add(path)
    }
  }
  for (const path of shadowed) {
    const message = `The server has a route at ${path} that was registered before the plugin, so the plugin's route there gets no requests. Register the plugin first, or move the server's route to another path.`
    log.warn('route-shadowed', message, { path })
  }
}

/**
 * Whether a route answers GET or POST at `path`. Ignores routes that also match `otherPath`. If `otherPath` is
 * undefined, no route is ignored.
 */
function hasRoute(layers: readonly RouterLayer[], path: string, otherPath: string | undefined): boolean {
  return layers.some((layer) => {
    const rest = restAfter(layer, path)
    if (rest === undefined) return false
    if (layer.route) {
      const { methods = {} } = layer.route
      const answers = methods.get || methods.post || methods._all
      return Boolean(answers) && (otherPath === undefined || restAfter(layer, otherPath) === undefined)
    }
    const nested = nestedLayers(layer)
    // A router that is mounted at the plugin's path does not match `otherPath`, so even its wildcard routes are for the
    // plugin's path.
    const otherRest = otherPath === undefined ? undefined : restAfter(layer, otherPath)
    return nested !== undefined && hasRoute(nested, rest, otherRest)
  })
}

/** Returns the rest of a path that a layer passes to its router. Returns undefined if the layer does not match. */
function restAfter(layer: RouterLayer, path: string): string | undefined {
  const match = layer.match?.(path)
  if (!match) return undefined
  const matched = (typeof match === 'object' ? match.path : layer.path) ?? ''
  const rest = path.slice(matched === '/' ? 0 : matched.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}
