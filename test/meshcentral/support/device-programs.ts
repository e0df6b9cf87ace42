import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Names of MeshCentral's programs for devices, in its folder `agents`. */
const PROGRAMS = /^meshagent_|\.exe$/
/**
 * Where the parts of the header of a Windows program begin.
 *
 * @see https://learn.microsoft.com/windows/win32/debug/pe-format
 */
const [PE_HEADER, OPTIONAL_HEADER, HEADER_END] = [64, 88, 220]

/**
 * Replaces the programs for devices, which no test runs. MeshCentral prefers the files in the data folder's `agents` to
 * its own. At each start, it would hash 100 MB of programs and check their signatures, which takes half of the start.
 */
export async function replaceDevicePrograms(installation: string, dataPath: string): Promise<void> {
  const names = await readdir(join(installation, 'node_modules/meshcentral/agents'))
  const folder = join(dataPath, 'agents')
  await mkdir(folder)
  await Promise.all(
    names
      .filter((name) => PROGRAMS.test(name))
      .map((name) => writeFile(join(folder, name), name.endsWith('.exe') ? windowsHeader() : 'In place of a program.')),
  )
}

/** Returns the header of a 32-bit program, as MeshCentral reads it. It is too short for MeshCentral to sign. */
function windowsHeader(): Buffer {
  const header = Buffer.alloc(HEADER_END)
  header.write('MZ')
  header.writeUInt32LE(PE_HEADER, 60)
  header.write('PE', PE_HEADER)
  header.writeUInt16LE(224, PE_HEADER + 20)
  header.writeUInt16LE(0x10b, OPTIONAL_HEADER)
  // MeshCentral hashes up to the certificate table. It may be behind the end of the file, but not missing.
  header.writeUInt32LE(4096, OPTIONAL_HEADER + 128)
  return header
}
