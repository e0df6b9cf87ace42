/** A file of another kind than expected. Neither text quotes the file. */
export class WrongFile extends TypeError {
  override readonly name = 'WrongFile'
  /** What the file is, after "names FILE, which". */
  readonly reason: string
  readonly remedy: string

  constructor(reason: string, remedy: string) {
    super(reason)
    this.reason = reason
    this.remedy = remedy
  }
}
