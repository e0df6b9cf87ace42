import { Ajv, type CodeOptions, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import type { OidcConfig } from '../../oidc-config.ts'
import type { MemberSchema } from './member-schema.ts'

/**
 * That the schema itself is in order is shown by a test: to check it here would double the time that a server's start
 * takes for it.
 */
export function createAjv(code: CodeOptions = {}): Ajv {
  const ajv = new Ajv({
    allErrors: true,
    verbose: true,
    allowUnionTypes: true,
    meta: false,
    validateSchema: false,
    code,
  })
  addFormats.default(ajv, ['uri'])
  return ajv
}

/** The packed plugin of MeshCentral has the outcome of this in place of it. */
export function compileSchema(root: MemberSchema): ValidateFunction<OidcConfig> {
  return createAjv().compile<OidcConfig>(root)
}
