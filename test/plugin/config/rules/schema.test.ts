import { Ajv } from 'ajv'
import { expect } from 'chai'
import { oidcSchema } from '../../../../plugin/config/rules/schema/schema.ts'
import { PRESETS } from '../../../../plugin/presets/presets.ts'
import { CLIENT, ISSUER, MINIMAL, readOne } from '../single-domain.ts'

const SCHEMA = oidcSchema(PRESETS)

describe('JSON Schema of the configuration', () => {
  it("the configuration's schema is a valid JSON Schema", () => {
    const ajv = new Ajv()
    expect(ajv.validateSchema(SCHEMA), ajv.errorsText()).to.equal(true)
  })

  const withClient = (members: object) => ({ client: { ...CLIENT, ...members } })
  for (const [members, path, reason, remedy = /^Write /] of [
    [{ client: 'mesh' }, 'client', 'must be an object'],
    [withClient({ client_id: 5 }), 'client.client_id', 'must be a string'],
    [withClient({ client_id: '' }), 'client.client_id', 'must not be empty'],
    [withClient({ default_max_age: 1.5 }), 'client.default_max_age', 'must be a whole number'],
    [withClient({ default_max_age: -1 }), 'client.default_max_age', 'must not be negative'],
    [withClient({ assertion_audience: 'both' }), 'client.assertion_audience', 'does not have the right form'],
    [withClient({ response_mode: 'x' }), 'client.response_mode', /^must be one of query, form_post, /],
    [{ client: { ...CLIENT, uuid: 'x' } }, 'client.uuid', /known/, 'It belongs in "custom.claims".'],
    [{ client: { ...CLIENT, zzz: 'x' } }, 'client.zzz', /known/, /^Remove it\. Known here: client_id, /],
    [{ custom: { scope: 5 } }, 'custom.scope', 'must be a string or an array of strings'],
    [{ custom: { required_acr: [] } }, 'custom.required_acr', 'must not be empty'],
    [{ groups: { recursive: 'x' } }, 'groups.recursive', 'must be true or false'],
    [{ groups: { scope: true } }, 'groups.scope', 'must be a string or false'],
    [{ issuer: { issuer: ISSUER, jwks_uri: 'x' } }, 'issuer.jwks_uri', /^must be a complete( https)? address$/],
    [{ issuer: 'http://x.test' }, 'issuer', 'must be https'],
    [{ issuer: 'https://:p@x.test' }, 'issuer', /user name or password/, /@/],
    [{ issuer: 'https://x.test/?a' }, 'issuer', 'must not have a query', /\?/],
    [{ issuer: 'https://x.test/#a' }, 'issuer', 'must not have a fragment', /#/],
    [{ logouturl: 'mailto:a@x.test' }, 'logouturl', 'must be a complete https address'],
  ] as readonly (readonly [object, string, string | RegExp, (string | RegExp)?])[]) {
    it(`reports a wrong value of ${path}: ${reason}`, () => {
      const [problem] = readOne({ ...MINIMAL, ...members }).problems
      expect(problem?.path).to.equal(`domains[""].authStrategies.oidc.${path}`)
      for (const [actual, expected] of [
        [problem?.reason, reason],
        [problem?.remedy, remedy],
      ])
        if (expected instanceof RegExp) expect(actual).to.match(expected)
        else expect(actual).to.equal(expected)
    })
  }
})
