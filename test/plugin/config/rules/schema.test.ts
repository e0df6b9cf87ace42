import { Ajv } from 'ajv'
import { expect } from 'chai'
import { oidcSchema } from '../../../../plugin/config/rules/schema/schema.ts'
import { PRESETS } from '../../../../plugin/presets/all.ts'

describe('the schema of the configuration', () => {
  it('is a valid JSON Schema, which is not checked again at each start', () => {
    const ajv = new Ajv()
    expect(ajv.validateSchema(oidcSchema(PRESETS)), ajv.errorsText()).to.equal(true)
  })
})
