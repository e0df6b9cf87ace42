import { Ajv } from 'ajv'
import { expect } from 'chai'
import { BODY_SCHEMAS } from '../../../../sidecar/api/requests/body-schemas.ts'
import { SETTINGS_SCHEMA } from '../../../../sidecar/config/schema.ts'

describe('The JSON Schemas of the sidecar', () => {
  for (const [name, schema] of Object.entries({ settings: SETTINGS_SCHEMA, ...BODY_SCHEMAS }))
    it(`the schema ${name} is a valid JSON Schema`, () => {
      const ajv = new Ajv({ allowUnionTypes: true })
      expect(ajv.validateSchema(schema), ajv.errorsText()).to.equal(true)
    })
})
