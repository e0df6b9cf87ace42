import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packagedDocument } from './document.ts'

/** The folder in which this script writes `openapi.json`, as part of `npm run build`. */
const FOLDER = fileURLToPath(new URL('../../../dist/schemas', import.meta.url))

await mkdir(FOLDER, { recursive: true })
await writeFile(join(FOLDER, 'openapi.json'), `${JSON.stringify(packagedDocument(), null, 2)}\n`)
