/** The part of JSON Schema (draft 7) that the configuration needs. */
export interface MemberSchema {
  readonly type?: string | readonly string[]
  /** An instruction that says what to write. It is the remedy if the member is missing or wrong. */
  readonly description: string
  readonly properties?: Readonly<Record<string, MemberSchema>>
  readonly additionalProperties?: false | Omit<MemberSchema, 'description'>
  readonly required?: readonly string[]
  readonly items?: Omit<MemberSchema, 'description'>
  readonly enum?: readonly (string | null)[]
  readonly format?: 'uri'
  readonly pattern?: string
  readonly minLength?: number
  readonly minItems?: number
  readonly minimum?: number
  readonly not?: { readonly const: boolean }
}
