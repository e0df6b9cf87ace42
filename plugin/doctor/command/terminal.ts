import type { InstallationFiles } from '../check-installation.ts'

/** What the command reads from and writes to. */
export interface Terminal extends InstallationFiles {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /**
   * Writes a new file that its owner alone can read. Throws like `node:fs`, with `EEXIST` where there is one of that
   * name.
   */
  readonly create: (file: string, text: string) => void
}
