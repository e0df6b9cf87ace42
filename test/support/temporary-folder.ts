import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder of each test's own, gone after it. Call inside a `describe`. */
export function temporaryFolder() {
  let folder = ''
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mesh-companion-test-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))
  return {
    /** A place in it; the folder itself without a name. */
    path: (name = '') => join(folder, name),
  }
}
