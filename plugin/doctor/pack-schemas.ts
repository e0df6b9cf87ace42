import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { oidcSchema } from '../config/rules/schema/schema.ts'
import { PRESETS } from '../presets/presets.ts'

/**
 * The folder of the JSON Schemas for editors. `oidc.json` describes only the `oidc` object, for hosts that have their
 * own schema. `server.json` describes the whole file.
 */
const FOLDER = fileURLToPath(new URL('../../dist/schemas', import.meta.url))
const DRAFT = 'http://json-schema.org/draft-07/schema#'

const named = { type: 'string', description: 'The address of this schema, for editors.' }
const schema = oidcSchema(PRESETS)
const oidc = { ...schema, properties: { $schema: named, ...schema.properties } }

const member = (name: string, description: string, schema: object) => ({
  type: 'object',
  description,
  properties: { [name]: schema },
})
const server = {
  ...member('domains', "A server's configuration. Members that do not configure single sign-on belong to the server.", {
    type: 'object',
    description: 'The domains by key. The default domain has the key "".',
    additionalProperties: member(
      'authStrategies',
      'A domain of the server.',
      member('oidc', 'The ways to sign in.', { $ref: '#/definitions/oidc' }),
    ),
  }),
  definitions: { oidc },
}

await mkdir(FOLDER, { recursive: true })
for (const [name, title, schema] of [
  ['oidc.json', 'Single sign-on of one domain', oidc],
  ['server.json', 'Single sign-on in the configuration of a server', server],
] as const) {
  const published = { $schema: DRAFT, title: `mesh-companion: ${title}`, ...schema }
  await writeFile(join(FOLDER, name), `${JSON.stringify(published, null, 2)}\n`)
}
