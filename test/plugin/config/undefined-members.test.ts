import { expect } from 'chai'
import fc from 'fast-check'
import { oidcSchema } from '../../../plugin/config/rules/schema/schema.ts'
import { readDomains } from '../../../plugin/mount/read-domains.ts'
import { PRESETS } from '../../../plugin/presets/presets.ts'
import { MINIMAL } from './single-domain.ts'
import { validOidc } from './valid-oidc.ts'

type Members = Record<string, unknown>
type Schema = ReturnType<typeof oidcSchema>

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns every name that has a meaning in a configuration. */
function namesIn({ properties = {} }: Schema): readonly string[] {
  return Object.entries(properties).flatMap(([name, inner]) => [name, ...namesIn(inner)])
}
const OLD = ['clientid', 'clientsecret', 'callbackURL', 'logoutURL', 'scope', 'tenantid', 'customerid', 'enabled']
const AROUND = ['settings', 'cert', 'port', 'aliasPort', 'dns', 'title', 'authStrategies', 'oidc', 'oidcCredentials']
const names = fc
  .tuple(fc.constantFrom(...namesIn(oidcSchema(PRESETS)), ...OLD, ...AROUND, 'nothing', '$schema'), fc.boolean())
  .map(([name, upper]) => (upper ? name.toUpperCase() : name))

/** Returns a copy in which every object has additional undefined members. Existing members stay. */
function sprinkled(value: unknown, added: readonly (readonly string[])[], depth = 0): unknown {
  if (!isMembers(value)) return value
  const existing = Object.entries(value).map(([name, member]) => [name, sprinkled(member, added, depth + 1)])
  const more = (added[depth % added.length] ?? []).filter((name) => !Object.hasOwn(value, name))
  return Object.fromEntries([...more.map((name) => [name, undefined]), ...existing])
}

describe('configuration members with the value undefined', () => {
  it('treats a configuration member with the value undefined as absent', () => {
    const config = fc.record({
      oidc: fc.oneof(
        validOidc,
        fc.constant({ ...MINIMAL, custom: { authorization_params: { prompt: 'login' } } }),
        fc.constant({ client: { client_id: '1-a.apps.googleusercontent.com', client_secret: 'x' } }),
        fc.jsonValue(),
      ),
      dns: fc.constant('a.example'),
    })
    const added = fc.array(fc.uniqueArray(names, { maxLength: 12 }), { minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(config, added, ({ oidc, dns }, more) => {
        const whole = { settings: { cert: 'x.example' }, domains: { Key: { dns, authStrategies: { oidc } } } }
        expect(readDomains(sprinkled(whole, more))).to.deep.equal(readDomains(whole))
      }),
      { numRuns: 500 },
    )
  })
})
