import { type Answer, type BrowserOptions, ScriptedBrowser, type Visit } from '../../../fixtures/browser.ts'

/**
 * Limits in characters, well below those of proxies. By default, nginx accepts 4 KB of answer headers, and nginx and
 * Apache accept 8 KB for a request line or one header line.
 */
export const MOST = { set: 2_048, address: 3_072, sent: 6_144 } as const

/** A browser that measures its requests to one origin, and the answers. */
export class MeasuredBrowser extends ScriptedBrowser {
  /**
   * The largest sizes so far, in characters: the `Set-Cookie` headers of an answer, the address of a redirect, and the
   * plugin's cookies in a request.
   */
  readonly most = { set: 0, address: 0, sent: 0 }
  /** Cookies that the server set without `Secure`, except an empty session of MeshCentral. */
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
