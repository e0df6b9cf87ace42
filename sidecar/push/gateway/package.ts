import type { PushOutcome } from './gateway.ts'

/**
 * The package of a vendor's client does not load, as where a start and an installation meet. Node does not try a second time, whatever
 * becomes of the files: that takes another process.
 */
export class PackageBroken extends Error {
  override readonly name = 'PackageBroken'

  constructor(packageName: string, cause: unknown) {
    const { code, name } = cause instanceof Error ? (cause as NodeJS.ErrnoException) : { code: undefined, name: '' }
    super(`the package ${packageName} cannot be loaded (${code ?? name}): restart the sidecar, or install it anew`)
  }
}

/** What `load` gives; a rejection becomes a {@link PackageBroken}. */
export async function loadPackage<Package>(packageName: string, load: () => Promise<Package>): Promise<Package> {
  try {
    return await load()
  } catch (error) {
    throw new PackageBroken(packageName, error)
  }
}

/** What each notification comes to where `error` has left us without a client; undefined where it is of another kind. */
export function withoutPackage(error: unknown): PushOutcome | undefined {
  // Somebody has to mend it, and until then nobody can be told.
  return error instanceof PackageBroken ? { kind: 'unauthorized', reason: error.message } : undefined
}
