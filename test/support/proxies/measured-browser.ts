import { type Answer, type BrowserOptions, ScriptedBrowser, type Visit } from '../../../fixtures/browser.ts'

/**
 * nginx takes 4 KB of answer headers with its defaults, and nginx and Apache 8 KB of request line and of one header
 * line.
 */
export const MOST = { set: 2_048, address: 3_072, sent: 6_144 } as const

/** A browser that measures what goes between it and the server at an origin. */
export class MeasuredBrowser extends ScriptedBrowser {
  /**
   * In characters, at most: `Set-Cookie` of one answer, an address that it was sent to, and the plugin's cookies in one
   * request.
   */
  readonly most = { set: 0, address: 0, sent: 0 }
  /** Cookies that it was given without `Secure`, but for an empty session of MeshCentral. */
  readonly bare: string[] = []
  readonly #origin: string

  constructor(url: string, options?: BrowserOptions) {
    super(options)
    this.#origin = new URL(url).origin
  }

  override async step(address: string, visit?: Visit): Promise<Answer> {
    const url = new URL(address)
    if (url.origin !== this.#origin) return super.step(address, visit)
    const loginCookies = this.cookies.matching(url).filter(({ name }) => name.includes('oidc-'))
    this.#note('sent', loginCookies.map(({ name, value }) => `${name}=${value}; `).join(''))
    const answer = await super.step(address, visit)
    const set = answer.headers['set-cookie'] ?? []
    this.#note('set', set.join(''))
    this.bare.push(
      ...set.filter(
        (cookie) => !/^xid=e30=|^[\w.]+\.sig=|;\s*(secure|max-age=0|expires=thu, 01 jan 1970)/i.test(cookie),
      ),
    )
    this.#note('address', answer.headers.location ?? '')
    return answer
  }

  #note(kind: keyof typeof MOST, text: string): void {
    this.most[kind] = Math.max(this.most[kind], text.length)
  }
}
