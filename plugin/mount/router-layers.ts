import type { HostApp } from '../routes/route-table.ts'

/** The members of a layer in the stack of an Express application or router. Source: `router/lib/layer.js`. */
export interface RouterLayer {
  /** The layer's handler. If the layer is a mounted router, the handler has a `stack`. */
  readonly handle?: unknown
  /** The route, if the layer was added by `app.get(…)` or the like. Undefined for `app.use(…)`. */
  readonly route?: { readonly methods?: Readonly<Record<string, boolean>> }
  /** The part of the path that the last `match` call matched. Set in Express 4, and in Express 5 before 5.3. */
  readonly path?: string
  /**
   * Whether the layer matches a path. In Express 5.3 and later, returns an object with the matched path instead of
   * `true`.
   */
  match?(path: string): boolean | { readonly path: string }
}

/** Members of an Express application or router that are missing in Express's types. */
interface RouterHolder {
  /** Only Express 4 has this member. In Express 4, reading `router` throws. */
  readonly lazyrouter?: unknown
  /** The router of Express 4. */
  readonly _router?: RouterHolder
  /** The router of Express 5. */
  readonly router?: RouterHolder
  /** The layers, if this object is itself a router. */
  readonly stack?: unknown
}

/**
 * Returns the layers that are registered on an Express application or router so far. Returns an empty list for any
 * other object.
 */
export function layersOf(app: HostApp): readonly RouterLayer[] {
  const holder = app as HostApp & RouterHolder
  return stackOf(('lazyrouter' in holder ? holder._router : holder.router) ?? holder)
}

/** Returns the layers of a mounted router. Returns undefined if the layer is not a router. */
export function nestedLayers({ handle }: RouterLayer): readonly RouterLayer[] | undefined {
  return typeof handle === 'function' && 'stack' in handle ? stackOf(handle) : undefined
}

function stackOf({ stack }: RouterHolder): readonly RouterLayer[] {
  return Array.isArray(stack) ? stack : []
}
