import { Ajv } from 'ajv'
import { expect } from 'chai'
import { BODY_SCHEMAS } from '../../../../sidecar/api/requests/body-schemas.ts'
import { SETTINGS_SCHEMA } from '../../../../sidecar/config/schema.ts'

describe('the schemas that a start takes for sound', () => {
  for (const [name, schema] of Object.entries({ settings: SETTINGS_SCHEMA, ...BODY_SCHEMAS }))
    it(`are: ${name}`, () => {
      const ajv = new Ajv({ allowUnionTypes: true })
      expect(ajv.validateSchema(schema), ajv.errorsText()).to.equal(true)
    })
})
