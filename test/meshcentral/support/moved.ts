import { rmSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { laboratory } from './laboratory.ts'

/** What is written otherwise in one of MeshCentral's source files: each place that is so. */
export type Move = readonly [file: string, from: string | RegExp, to: string]

const OWN = 'node_modules/meshcentral'

const copies: string[] = []
process.once('exit', () => {
  for (const folder of copies) rmSync(folder, { recursive: true, force: true })
})

/** The installation with sources of its own, which lead to the same packages. It goes with this process. */
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
  const own = join(installation, OWN)
  for (const name of await readdir(own)) {
    if (/\.(js|json)$/.test(name)) await copyFile(join(own, name), join(folder, OWN, name))
    else await symlink(join(own, name), join(folder, OWN, name))
  }
  return folder
}

/** An installation in which parts of MeshCentral have moved. */
export async function movedInstallation(moves: readonly Move[]): Promise<string> {
  const folder = await copyInstallation()
  for (const [name, from, to] of moves) {
    const file = join(folder, OWN, name)
    const text = await readFile(file, 'utf8')
    const moved = text.replaceAll(from, to)
    if (moved === text) throw new Error(`${name} has no ${from}`)
    await writeFile(file, moved)
  }
  return folder
}
