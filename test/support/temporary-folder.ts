import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TemporaryFolder {
  /** A place in it; the folder itself without a name. */
  path(name?: string): string
}

/** A folder of each test's own, gone after it. Call inside a `describe`. */
export function temporaryFolder(): TemporaryFolder {
  let folder = ''
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mesh-companion-test-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))
  return { path: (name = '') => join(folder, name) }
}
