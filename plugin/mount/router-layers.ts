import type { HostApp } from '../routes/route-table.ts'

/** The members of a layer in the stack of an Express application or router. Source: `router/lib/layer.js`. */
export interface RouterLayer {
  /** A handler; a mounted router has a stack of its own. */
  readonly handle?: unknown
  /** Present for `app.get(…)` and the like; absent for `app.use(…)`. */
  readonly route?: { readonly methods?: Readonly<Record<string, boolean>> }
  /** The part of the path that matched last: Express 4, and Express 5 before 5.3. */
  readonly path?: string
  /** Returns the match in Express 5.3 and later; whether it matches in earlier versions. */
  match?(path: string): boolean | { readonly path: string }
}

/** The members of an Express application or router that its types leave out. */
interface RouterHolder {
  /** Express 4 has it, and throws for `router`. */
  readonly lazyrouter?: unknown
  /** The router of Express 4. */
  readonly _router?: RouterHolder
  /** The router of Express 5. */
  readonly router?: RouterHolder
  /** A router has it itself. */
  readonly stack?: unknown
}

/** Returns what is registered on an Express application or router so far; nothing if it is another object. */
export function layersOf(app: HostApp): readonly RouterLayer[] {
  const holder = app as HostApp & RouterHolder
  return stackOf(('lazyrouter' in holder ? holder._router : holder.router) ?? holder)
}

/** Returns what is registered on a mounted router; undefined if the layer is no router. */
export function nestedLayers({ handle }: RouterLayer): readonly RouterLayer[] | undefined {
  return typeof handle === 'function' && 'stack' in handle ? stackOf(handle) : undefined
}

function stackOf({ stack }: RouterHolder): readonly RouterLayer[] {
  return Array.isArray(stack) ? stack : []
}
