/** The error if a file is not of the expected kind. Its texts never quote the file's content. */
export class WrongFile extends TypeError {
  override readonly name = 'WrongFile'
  /** The problem, as the end of a sentence that begins with "names FILE, which". */
  readonly reason: string
  readonly remedy: string

  constructor(reason: string, remedy: string) {
    super(reason)
    this.reason = reason
    this.remedy = remedy
  }
}
