import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { installInto, LATEST_VERSION, OLDER_VERSION } from './installation.ts'

/**
 * Installs both versions of MeshCentral into the folders `latest` and `older` of the folder that the command line
 * names. `.ci/run` does so while the first tests run, and hands both to all suites that need MeshCentral.
 */
const [folder = '.'] = process.argv.slice(2)
const versions = { latest: LATEST_VERSION, older: OLDER_VERSION }
for (const [name, version] of Object.entries(versions)) {
  const place = join(folder, name)
  await mkdir(place, { recursive: true })
  await installInto(place, version)
}
