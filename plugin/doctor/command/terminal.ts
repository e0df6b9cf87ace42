import type { InstallationFiles } from '../check-installation.ts'

/** The input and output of the command. */
export interface Terminal extends InstallationFiles {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /**
   * Writes a new file that only its owner can read. Throws like `node:fs`, with `EEXIST` if a file with that name
   * exists.
   */
  readonly create: (file: string, text: string) => void
}
