import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readCommandLine } from '../../fixtures/command-line.ts'

const USAGE = `Usage: npm run record:surface

Writes the public surface as it is now. Its diff shows what a change breaks or adds.`

readCommandLine(USAGE, {})
// Imported now, because the parts take seconds to load, and a wrong command line needs none of them.
const { publicSurface, RECORD } = await import('./surface.ts')
await mkdir(RECORD, { recursive: true })
for (const [name, text] of Object.entries(await publicSurface())) await writeFile(join(RECORD, name), text)
