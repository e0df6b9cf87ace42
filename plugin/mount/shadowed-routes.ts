import type { Log } from '../log.ts'
import type { HostApp } from '../routes/route-table.ts'
import type { RoutePaths } from '../routes/strategy.ts'
import { layersOf, nestedLayers, type RouterLayer } from './router-layers.ts'

/** A route that matches this name too is a guard for many paths, not a page at one of ours. */
const NO_PAGE = 'no-page-of-this-server'

/**
 * Warns of routes that the server registered before the plugin at the paths of the plugin's own routes. Express calls
 * the earlier one. An earlier `/logout` would leave the user signed in at the IdP, so that the next login asks for no
 * password.
 *
 * Sees `app.get`, `app.post` and `app.all`, also on mounted routers. Handlers of `app.use` may pass requests on, so
 * they are not reported.
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

/** Whether a route answers GET or POST at `path`, and not at every path. */
function hasRoute(layers: readonly RouterLayer[], path: string, otherPath: string): boolean {
  return layers.some((layer) => {
    const rest = restAfter(layer, path)
    if (rest === undefined) return false
    if (layer.route) {
      const { methods = {} } = layer.route
      const answers = methods.get || methods.post || methods._all
      return Boolean(answers) && restAfter(layer, otherPath) === undefined
    }
    const nested = nestedLayers(layer)
    // A router below the path of one of our routes serves that path alone, whatever its own pattern is.
    return nested !== undefined && hasRoute(nested, rest, restAfter(layer, otherPath) ?? `/${NO_PAGE}`)
  })
}

/** Returns the part of a path that a layer leaves to its router; undefined if the layer does not match. */
function restAfter(layer: RouterLayer, path: string): string | undefined {
  const match = layer.match?.(path)
  if (!match) return undefined
  const matched = (typeof match === 'object' ? match.path : layer.path) ?? ''
  const rest = path.slice(matched === '/' ? 0 : matched.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}
