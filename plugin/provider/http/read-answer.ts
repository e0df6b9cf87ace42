/** Statuses that may have no body in a `Response`, not even an empty one. */
const WITHOUT_BODY = [204, 205, 304]

/**
 * An answer whose body is here, as a `Response`. One of the platform's own makes a stream of the body and reads that again, which takes
 * five times as long as all else that is done to an answer. This one has no stream (`body` is null); everything else is as usual.
 */
export class ReadAnswer extends Response {
  readonly #bytes: Uint8Array<ArrayBuffer>
  override bodyUsed = false

  constructor(bytes: Uint8Array<ArrayBuffer>, init: ResponseInit) {
    super(null, init)
    this.#bytes = WITHOUT_BODY.includes(this.status) ? new Uint8Array() : bytes
  }

  override readonly text = async (): Promise<string> => new TextDecoder().decode(this.#take())
  override readonly json = async (): Promise<unknown> => JSON.parse(await this.text())
  override readonly arrayBuffer = async () => this.#plain().arrayBuffer()
  override readonly blob = async () => this.#plain().blob()
  override readonly formData = async () => this.#plain().formData()

  override readonly clone = (): ReadAnswer => {
    this.#assertUnread()
    return new ReadAnswer(this.#bytes, this)
  }

  #take(): Uint8Array<ArrayBuffer> {
    this.#assertUnread()
    this.bodyUsed = true
    return this.#bytes
  }

  #plain(): Response {
    return new Response(this.#take(), { headers: this.headers })
  }

  #assertUnread(): void {
    if (this.bodyUsed) throw new TypeError('The body of this answer has been read.')
  }
}
