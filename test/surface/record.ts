import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { publicSurface, RECORD } from './surface.ts'

/** Writes the public surface as it is now. Its diff shows what a change breaks or adds. */
await mkdir(RECORD, { recursive: true })
for (const [name, text] of Object.entries(await publicSurface())) await writeFile(join(RECORD, name), text)
