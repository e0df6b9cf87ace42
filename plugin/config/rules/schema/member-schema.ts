/** The part of JSON Schema (draft 7) that the configuration needs. */
export interface MemberSchema {
  readonly type?: string | readonly string[]
  /**
   * An instruction for the administrator that says what to write. If the member is missing or wrong, it is the remedy.
   */
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
