import { join } from 'node:path'
import { createFolder, type FileFolder } from './file-folder.ts'

/** Gives each test its own folder, which is removed afterwards. Call inside a `describe`. */
export function temporaryFolder() {
  let folder: FileFolder
  beforeEach(async () => {
    folder = await createFolder('mesh-companion-test')
  })
  afterEach(() => folder.remove())
  return {
    /** Returns a path in the folder; without `name`, the folder's path. */
    path: (name = '') => join(folder.path, name),
  }
}
