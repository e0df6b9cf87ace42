/** The part of JSON Schema (draft 7) that the configuration needs. */
export interface MemberSchema {
  readonly type?: string | readonly string[]
  /**
   * Tells the administrator what to write in this member. Error messages about the member use this text as the remedy.
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
