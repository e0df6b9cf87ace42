import { existsSync } from 'node:fs'
import { mkdir, readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { copyInstallation } from '../../meshcentral/support/moved.ts'
import { npmForWindows, type Wine } from './wine.ts'

/** What MeshCentral would install by itself at its start on Windows. */
const PACKAGES = ['node-windows@0.1.14', 'loadavg-windows@1.1.1']

/** The laboratory's MeshCentral with what it needs on Windows, in a folder of its own. */
export async function windowsInstallation({ folder }: Wine): Promise<string> {
  const own = join(folder, 'meshcentral-windows')
  await mkdir(own)
  const [installation] = await Promise.all([
    copyInstallation(),
    npmForWindows(own, 'install', '--no-save', ...PACKAGES),
  ])
  for (const name of await readdir(join(own, 'node_modules'))) {
    const place = join(installation, 'node_modules', name)
    if (!existsSync(place)) await symlink(join(own, 'node_modules', name), place)
  }
  return installation
}
