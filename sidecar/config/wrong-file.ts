/** A file that is not of the expected kind. Neither text quotes the file. */
export class WrongFile extends TypeError {
  override readonly name = 'WrongFile'
  /** The kind of the file, as the end of a sentence that begins with "names FILE, which". */
  readonly reason: string
  readonly remedy: string

  constructor(reason: string, remedy: string) {
    super(reason)
    this.reason = reason
    this.remedy = remedy
  }
}
