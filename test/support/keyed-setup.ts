import { type ClientKeyPair, createClientFolder } from './client-keys.ts'
import { type SetupOptions, setUp } from './sign-in-setup.ts'

export interface KeyedOptions extends SetupOptions {
  /** Private keys of the host's client. By default, the IdP gets their public keys; `registered` can change that. */
  readonly keys?: readonly ClientKeyPair[]
}

/** A request that the host sent to the IdP. */
export interface SentRequest {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly form: URLSearchParams
}

export type KeyedSetup = Awaited<ReturnType<ReturnType<typeof keyedSetups>>>

/**
 * Returns a function that starts a host with private keys in a file. It is closed after the test. Call inside a
 * `describe`.
 */
export function keyedSetups() {
  const open: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close()
  })

  return async function start({ keys = [], ...options }: KeyedOptions = {}) {
    const folder = await createClientFolder()
    open.push(folder.remove)
    /** Requests of the host to the IdP, oldest first. */
    const sent: SentRequest[] = []
    const fetch: typeof globalThis.fetch = (input, init) => {
      const form = new URLSearchParams(init?.body instanceof URLSearchParams ? init.body : '')
      const headers = Object.fromEntries(new Headers(init?.headers).entries())
      sent.push({ url: String(input), method: init?.method ?? 'GET', headers, form })
      return globalThis.fetch(input, init)
    }
    const setup = await setUp({
      ...options,
      registered: {
        ...(keys.length > 0 ? { jwks: { keys: keys.map((key) => key.public) } } : {}),
        ...options.registered,
      },
      host: {
        fetch,
        ...(keys.length > 0 ? { credentials: { '': { jwksFile: await folder.writeKeys(keys) } } } : {}),
        ...options.host,
      },
    })
    open.push(setup.close)
    return { ...setup, sent }
  }
}

/** Returns the header and the claims of a signed token. Does not verify the signature. */
export function partsOf(
  token: string,
): readonly [Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>] {
  const [header = '', claims = ''] = token.split('.')
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
  return [read(header), read(claims)]
}
