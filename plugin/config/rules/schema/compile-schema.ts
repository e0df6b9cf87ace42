import { Ajv, type CodeOptions, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import type { OidcConfig } from '../../oidc-config.ts'
import type { MemberSchema } from './member-schema.ts'

/**
 * Returns a compiler for schemas. It does not check the schema itself, because that would double its time at a server's
 * start; a test checks the schema instead.
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

/** Compiles the schema. The packed plugin for MeshCentral contains the compiled result instead of this function. */
export function compileSchema(root: MemberSchema): ValidateFunction<OidcConfig> {
  return createAjv().compile<OidcConfig>(root)
}
