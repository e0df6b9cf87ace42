import { rmSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { laboratory } from './laboratory.ts'

/** A replacement in one of MeshCentral's source files. It applies to each occurrence. */
export type Move = readonly [file: string, from: string | RegExp, to: string]

const OWN = 'node_modules/meshcentral'

const copies: string[] = []
process.once('exit', () => {
  for (const folder of copies) rmSync(folder, { recursive: true, force: true })
})

/**
 * Copies the installation with its own sources and links to the same packages. The copy is deleted when the process
 * exits.
 */
export async function copyInstallation(): Promise<string> {
  const { installation } = await laboratory()
  const folder = await mkdtemp(join(tmpdir(), 'meshcentral-moved-'))
  copies.push(folder)
  await mkdir(join(folder, OWN), { recursive: true })
  const link = async (from: string, name: string) => symlink(join(from, name), join(folder, name))
  for (const name of await readdir(join(installation, 'node_modules'))) {
    if (name !== 'meshcentral') await link(installation, join('node_modules', name))
  }
  await copyFile(join(installation, 'package.json'), join(folder, 'package.json'))
  const sources = join(installation, OWN)
  for (const name of await readdir(sources)) {
    if (/\.(js|json)$/.test(name)) await copyFile(join(sources, name), join(folder, OWN, name))
    else await symlink(join(sources, name), join(folder, OWN, name))
  }
  return folder
}

/** Returns an installation in which parts of MeshCentral have moved. */
export async function movedInstallation(moves: readonly Move[]): Promise<string> {
  const folder = await copyInstallation()
  for (const [name, from, to] of moves) {
    const file = join(folder, OWN, name)
    const text = await readFile(file, 'utf8')
    const changed = text.replaceAll(from, to)
    if (changed === text) throw new Error(`${name} has no ${from}`)
    await writeFile(file, changed)
  }
  return folder
}
