import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { oidcSchema } from '../config/rules/schema/schema.ts'
import { PRESETS } from '../presets/all.ts'

/**
 * Part of `npm run build`: JSON Schemas by which editors complete and explain a server's configuration, made of the
 * very schema that it is checked with. `oidc.json` is of the `oidc` object alone, for hosts with a schema of their own;
 * `server.json` of the whole file.
 */
const PLACE = fileURLToPath(new URL('../../dist/schemas', import.meta.url))
const DRAFT = 'http://json-schema.org/draft-07/schema#'

const named = { type: 'string', description: 'Where an editor finds this schema.' }
const own = oidcSchema(PRESETS)
const oidc = { ...own, properties: { $schema: named, ...own.properties } }

const member = (name: string, description: string, schema: object) => ({
  type: 'object',
  description,
  properties: { [name]: schema },
})
const server = {
  ...member('domains', "A server's configuration; what is not of single sign-on belongs to the server.", {
    type: 'object',
    description: 'The domains by their keys; that of the default domain is "".',
    additionalProperties: member(
      'authStrategies',
      'A domain of the server.',
      member('oidc', 'The ways to sign in.', { $ref: '#/definitions/oidc' }),
    ),
  }),
  definitions: { oidc },
}

await mkdir(PLACE, { recursive: true })
for (const [name, title, schema] of [
  ['oidc.json', 'Single sign-on of one domain', oidc],
  ['server.json', 'Single sign-on in the configuration of a server', server],
] as const) {
  const published = { $schema: DRAFT, title: `mesh-companion: ${title}`, ...schema }
  await writeFile(join(PLACE, name), `${JSON.stringify(published, null, 2)}\n`)
}
