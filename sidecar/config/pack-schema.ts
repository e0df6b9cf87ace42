import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SETTINGS_SCHEMA } from './schema.ts'

/**
 * The folder for the JSON Schema of the configuration; `npm run pack:sidecar` passes another. Editors complete settings
 * with the schema, and the sidecar validates with it.
 */
const FOLDER = process.argv[2] ?? fileURLToPath(new URL('../../dist/schemas', import.meta.url))

const published = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'mesh-companion: configuration of the sidecar',
  ...SETTINGS_SCHEMA,
  properties: {
    $schema: { type: 'string', description: 'The address of this schema, for editors.' },
    ...SETTINGS_SCHEMA.properties,
  },
}
/** Removes the format `address-range`. Only the sidecar knows it, and some validators reject unknown formats. */
const withoutOwnFormat = (key: string, value: unknown) =>
  key === 'format' && value === 'address-range' ? undefined : value

await mkdir(FOLDER, { recursive: true })
await writeFile(join(FOLDER, 'sidecar.json'), `${JSON.stringify(published, withoutOwnFormat, 2)}\n`)
