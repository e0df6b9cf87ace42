import type { Page, ScriptedBrowser } from '../../../fixtures/browser.ts'
import type { ClientSettings } from '../../../plugin/config/settings.ts'
import type { CaseName } from './cases.ts'
import type { Person } from './people.ts'

/**
 * A provider as a package registry has it. Each adapter is `test/idps/providers/<name>.ts`, with `<name>.test.ts`
 * beside it, which hands it to `runMatrix` and adds what this provider alone has.
 */
export interface ProviderPackage<Own extends RealIdp = RealIdp> {
  /** As its makers write it: the name of its suite (`--grep Keycloak`). */
  readonly name: string
  /** Milliseconds that installing and the first start may take together. */
  readonly startLimitMs: number
  /**
   * Fetches what is not there yet with the registry's ordinary client, and makes the provider ready to start. `scratch`
   * exists, is this provider's own and is kept between runs: what was fetched, unpacked or built stays in it, and what
   * a run writes goes elsewhere (`mkdtemp`) or is removed by `stop`. A download that ended half-way is not taken for
   * one that ended.
   */
  install(scratch: string): Promise<Installed<Own>>
}

export type Installed<Own extends RealIdp = RealIdp> =
  | { readonly kind: 'installed'; readonly idp: Own }
  /** The suite is skipped, and this is printed. */
  | { readonly kind: 'missing'; readonly reason: string }

/**
 * One provider on loopback, administered as its administrator would. Its browser addresses are on `localhost`; the
 * reference host is on 127.0.0.1, so that they are different sites. Every wait inside has a deadline.
 */
export interface RealIdp {
  readonly version: string
  /**
   * To the letter as it publishes it. Fixed from the first `start`: `stop` and `start` change neither port nor issuer.
   */
  readonly issuer: string
  /** The same provider by TLS with a private authority (PEM), where it can. */
  readonly secure?: {
    readonly issuer: string
    readonly ca: string
    /** PEM of a certificate that it takes from clients there, for `tls_client_auth`. */
    readonly clientCertificate?: { readonly cert: string; readonly key: string }
    /** The same for `self_signed_tls_client_auth`, where that is another one. */
    readonly selfSignedCertificate?: { readonly cert: string; readonly key: string }
  }
  /** Cases that it cannot do, and why: a sentence without the version, which is printed beside it. */
  readonly cannot: Readonly<Partial<Record<CaseName, string>>>
  /** Wrong settings that end at a page of its own, so that the host never hears of them. */
  readonly ownPage: ReadonlySet<CaseName>
  /**
   * It refuses a refresh token by 400 and not a word: that ends nobody here, and the log says that the question was not
   * answered.
   */
  readonly refusesWithoutWords?: true
  /** What this server says of clients without a secret, where it lets them ask about no token, or revoke none. */
  readonly refusedToPublic?: readonly string[]
  /** It fetches no keys of clients on plain HTTP: they are handed to it instead. */
  readonly keysByValue?: boolean
  /** What it makes of a group's name in the claim, such as `/mesh-users`. */
  groupName(name: string): string

  /** Starts it, or starts it again after `stop`, with what it knew then. Resolves once discovery answers. */
  start(): Promise<void>
  /** Is away for the host: nothing listens at its addresses. Twice is fine. */
  stop(): Promise<void>
  /** Ends it for good, and removes what only this run needed. Twice is fine. */
  close(): Promise<void>
  /** Makes it new: no client, no session, nobody but `PEOPLE`, the keys of a fresh installation. Before each case. */
  reset(): Promise<void>

  /**
   * Makes a client, or changes the one of this id, and says what to configure here beside its own id and secret, or in
   * place of them.
   */
  register(client: ClientRegistration): Promise<Partial<Registered>>
  /** Makes somebody, or changes what is known of them: their groups become exactly these. */
  setPerson(person: Person): Promise<void>
  /**
   * Takes from somebody the right to sign in, as an administrator does who lets them go. What else that ends is up to
   * the provider.
   */
  disable(person: Person): Promise<void>
  /**
   * What else befalls people and their sessions, where it is to be had; for who has no `setPassword`, `setPerson` sets
   * it.
   */
  readonly acts?: Readonly<
    Partial<Record<'delete' | 'setPassword' | 'revokeConsent' | 'age', (person: Person) => Promise<unknown>>>
  >
  /** New signing keys; the old ones are withdrawn as soon as the provider can do that. */
  rotateKeys(): Promise<void>

  /**
   * Walks from the page that a login has led to through its login and consent pages, to wherever that ends. A person it
   * knows already is not asked.
   */
  signIn(browser: ScriptedBrowser, page: Page, person: Person): Promise<Page>
  /** Whether the page asks for a password. */
  asksWho(page: Page, browser: ScriptedBrowser): boolean | Promise<boolean>
  /** On its login page: turns back to the host without signing in. */
  cancel?(browser: ScriptedBrowser, page: Page): Promise<Page>
  /** Answers its "do you want to sign out?", where it asks; any other page is handed back as it is. */
  confirmLogout(browser: ScriptedBrowser, page: Page): Promise<Page>

  /**
   * How many sessions it has for somebody; undefined where it does not tell (the matrix then looks whether the next
   * login asks).
   */
  ownSessions(person: Person): Promise<number | undefined>
  /** Ends sessions as an administrator: the newest, or all of this person. */
  endSessions?(person: Person, which: 'newest' | 'all'): Promise<void>
  /**
   * What it has noted of requests since `reset`, oldest first, such as `LOGIN` or `LOGOUT_ERROR session_expired`;
   * undefined where it notes nothing.
   */
  events?(): Promise<readonly string[]>
}

/** What the provider and the host are told of a client in the same words. */
export interface Agreed
  extends Partial<
    Omit<ClientSettings, 'client_id' | 'client_secret' | 'redirect_uri' | 'post_logout_redirect_uri' | 'response_types'>
  > {
  /** Absent: `code`. */
  readonly response_types?: readonly string[]
}

/**
 * The reference host as a client, in the words of OpenID Connect Dynamic Client Registration 1.0 and RFC 8705, 9101,
 * 9126 and 9449. What is absent is as the provider has it by default for a web application with a secret, which is
 * shown by client_secret_basic. An adapter that gets what it cannot set throws, so that no case passes by mistake.
 */
export interface ClientRegistration extends Agreed {
  readonly client_id: string
  /** Absent for methods that need none. A provider that makes its own gives that back. */
  readonly client_secret?: string
  readonly redirect_uris: readonly string[]
  readonly post_logout_redirect_uris?: readonly string[]
  /** Where the host publishes its keys. */
  readonly jwks_uri?: string
  readonly jwks?: { readonly keys: readonly object[] }
  /** Distinguished name of the certificate, for `tls_client_auth`. */
  readonly tls_client_auth_subject_dn?: string
  readonly backchannel_logout_uri?: string
  readonly backchannel_logout_session_required?: boolean
  /**
   * `unasked`: in the claim `groups` whatever the scope. `by_scope`: only where the scope `groups` is asked for.
   * Absent: not told.
   */
  readonly groups?: 'unasked' | 'by_scope'
  /**
   * The client gets refresh tokens: as the provider has them by default, or each good once (`rotates`), for so long a
   * time where it has no `acts.age` (`lifeS`), and with a consent of the person to take back.
   */
  readonly renewal?: { readonly rotates?: boolean; readonly lifeS?: number; readonly asksConsent?: boolean }
  /** Where name, e-mail and groups are told. Absent: as the provider has it by default, groups in both. */
  readonly claimsIn?: 'id_token' | 'userinfo'
}

/** What the host has to be configured with for a client. */
export interface Registered {
  /** The provider's own, where it gives them out itself. */
  readonly client_id: string
  readonly client_secret?: string
  /**
   * Further members of the `client` object that every configuration for this provider needs, such as an algorithm that
   * it cannot change.
   */
  readonly client?: Readonly<Record<string, unknown>>
  /** The same of the `oidc` object; `groups` and `custom` are merged member by member with a case's own, which win. */
  readonly oidc?: Readonly<Record<string, unknown>>
}
