/** The error if a file is not of the expected kind. Its texts never quote the file's content. */
export class WrongFile extends TypeError {
  override readonly name = 'WrongFile'
  /**
   * The problem with the file, such as "is not the key of a service account". The message says "names FILE, which"
   * before it.
   */
  readonly reason: string
  readonly remedy: string

  constructor(reason: string, remedy: string) {
    super(reason)
    this.reason = reason
    this.remedy = remedy
  }
}
