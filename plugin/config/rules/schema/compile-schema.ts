import { Ajv, type CodeOptions, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import type { OidcConfig } from '../../oidc-config.ts'
import type { MemberSchema } from './member-schema.ts'

/**
 * Returns an ajv instance that does not check the schema itself. That would double the time to compile it at start, so
 * a test does it.
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

/** Compiles the schema. The packaged plugin for MeshCentral contains the compiled result instead of this function. */
export function compileSchema(root: MemberSchema): ValidateFunction<OidcConfig> {
  return createAjv().compile<OidcConfig>(root)
}
