import { join } from 'node:path'
import { createFolder, type FileFolder } from './file-folder.ts'

/** A folder of each test's own, gone after it. Call inside a `describe`. */
export function temporaryFolder() {
  let folder: FileFolder
  beforeEach(async () => {
    folder = await createFolder('mesh-companion-test')
  })
  afterEach(() => folder.remove())
  return {
    /** A place in it; the folder itself without a name. */
    path: (name = '') => join(folder.path, name),
  }
}
