import { existsSync } from 'node:fs'
import { mkdir, readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { copyInstallation } from '../../meshcentral/support/moved.ts'
import { npmForWindows, type Wine } from './wine.ts'

/** The packages that MeshCentral installs by itself at its start on Windows. */
const PACKAGES = ['node-windows@0.1.14', 'loadavg-windows@1.1.1']

/** Installs the laboratory's MeshCentral in a separate folder, with the packages that it needs on Windows. */
export async function windowsInstallation({ folder }: Wine): Promise<string> {
  const packagesFolder = join(folder, 'meshcentral-windows')
  await mkdir(packagesFolder)
  const [installation] = await Promise.all([
    copyInstallation(),
    npmForWindows(packagesFolder, 'install', '--no-save', ...PACKAGES),
  ])
  for (const name of await readdir(join(packagesFolder, 'node_modules'))) {
    const place = join(installation, 'node_modules', name)
    if (!existsSync(place)) await symlink(join(packagesFolder, 'node_modules', name), place)
  }
  return installation
}
