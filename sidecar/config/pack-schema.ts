import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SETTINGS_SCHEMA } from './schema.ts'

/**
 * Part of `npm run build`: the JSON Schema by which editors complete and explain a sidecar's configuration, made of the
 * very schema that it is checked with.
 */
const PLACE = fileURLToPath(new URL('../../dist/schemas', import.meta.url))

const published = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'mesh-companion: configuration of the sidecar',
  ...SETTINGS_SCHEMA,
  properties: {
    $schema: { type: 'string', description: 'Where an editor finds this schema.' },
    ...SETTINGS_SCHEMA.properties,
  },
}
/** A format of ours, at which some validators end. */
const withoutOwnFormat = (key: string, value: unknown) =>
  key === 'format' && value === 'address-range' ? undefined : value

await mkdir(PLACE, { recursive: true })
await writeFile(join(PLACE, 'sidecar.json'), `${JSON.stringify(published, withoutOwnFormat, 2)}\n`)
