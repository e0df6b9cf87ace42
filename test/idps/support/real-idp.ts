import type { Page, ScriptedBrowser } from '../../../fixtures/browser.ts'
import type { ClientSettings } from '../../../plugin/config/settings.ts'
import type { CaseName } from './cases.ts'
import type { Person } from './people.ts'

/**
 * A provider installed from a package registry. Each adapter is `test/idps/providers/<name>.ts`. The file
 * `<name>.test.ts` beside it passes it to `runMatrix` and adds tests of what only this provider has.
 */
export interface ProviderPackage<Own extends RealIdp = RealIdp> {
  /** The provider's name as its makers write it, also that of its suite (`--grep Keycloak`). */
  readonly name: string
  /** Milliseconds that installing and the first start may take together. */
  readonly startLimitMs: number
  /**
   * Downloads what is missing with the registry's ordinary client and prepares the provider for its start. `scratch`
   * exists, belongs to this provider and is kept between runs. It holds downloads, unpacked files and builds. What a
   * run writes goes elsewhere (`mkdtemp`) or is removed by `stop`. An interrupted download must not count as complete.
   */
  install(scratch: string): Promise<Installed<Own>>
}

export type Installed<Own extends RealIdp = RealIdp> =
  | { readonly kind: 'installed'; readonly idp: Own }
  /** The suite is skipped, and the reason printed. */
  | { readonly kind: 'missing'; readonly reason: string }

/**
 * One provider on loopback, administered as its administrator would. Its browser addresses are on `localhost`; the
 * reference host is on 127.0.0.1, so that they are different sites. Every wait inside has a deadline.
 */
export interface RealIdp {
  readonly version: string
  /** The issuer exactly as the provider publishes it. From the first `start` on, port and issuer never change. */
  readonly issuer: string
  /** The same provider over TLS with a private authority (PEM), if it supports that. */
  readonly secure?: {
    readonly issuer: string
    readonly ca: string
    /** A client certificate (PEM) that it accepts for `tls_client_auth`. */
    readonly clientCertificate?: { readonly cert: string; readonly key: string }
    /** The certificate for `self_signed_tls_client_auth`, if that is another one. */
    readonly selfSignedCertificate?: { readonly cert: string; readonly key: string }
  }
  /** Cases that it cannot do, each with a reason: a sentence without the version, which is printed beside it. */
  readonly cannot: Readonly<Partial<Record<CaseName, string>>>
  /** Cases in which the IdP shows the error on its own page, so that the host never learns of it. */
  readonly ownPage: ReadonlySet<CaseName>
  /**
   * The provider refuses a refresh token with status 400 and an empty body. The host then keeps the session and logs
   * that the check failed.
   */
  readonly refusesWithoutWords?: true
  /**
   * Events that the host logs for a client without a secret, if the provider refuses it introspection or revocation.
   */
  readonly refusedToPublic?: readonly string[]
  /** The provider does not fetch client keys over plain HTTP, so it receives them by value. */
  readonly keysByValue?: boolean
  /** Returns a group's name as the claim has it, such as `/mesh-users`. */
  groupName(name: string): string

  /** Starts the provider, or restarts it after `stop` with its previous data. Resolves once discovery answers. */
  start(): Promise<void>
  /** Makes the provider unreachable: nothing listens at its addresses. Idempotent. */
  stop(): Promise<void>
  /** Ends the provider for good and removes the files of this run. Idempotent. */
  close(): Promise<void>
  /** Restores a fresh installation before each case: no client, no session, only `PEOPLE`, the first keys. */
  reset(): Promise<void>

  /**
   * Creates a client, or changes the one with this id. Returns what to configure at the host in addition to its id and
   * secret, or instead of them.
   */
  register(client: ClientRegistration): Promise<Partial<Registered>>
  /** Creates or changes a user, and replaces the user's groups by these. */
  setPerson(person: Person): Promise<void>
  /** Disables a user, as an administrator does when an employee leaves. What else that ends depends on the provider. */
  disable(person: Person): Promise<void>
  /**
   * Further events of users and their sessions, where the provider has them. Without `setPassword`, `setPerson` sets
   * it.
   */
  readonly acts?: Readonly<
    Partial<Record<'delete' | 'setPassword' | 'revokeConsent' | 'age', (person: Person) => Promise<unknown>>>
  >
  /** Creates new signing keys. The old ones are withdrawn as soon as the provider can do that. */
  rotateKeys(): Promise<void>

  /**
   * Follows a login from this page through the provider's login and consent pages to its end. A person who is signed in
   * already is not asked.
   */
  signIn(browser: ScriptedBrowser, page: Page, person: Person): Promise<Page>
  /** Whether the page asks for a password. */
  asksWho(page: Page, browser: ScriptedBrowser): boolean | Promise<boolean>
  /** Cancels on the login page and returns to the host. */
  cancel?(browser: ScriptedBrowser, page: Page): Promise<Page>
  /** Confirms the sign-out if the page asks for it; returns any other page unchanged. */
  confirmLogout(browser: ScriptedBrowser, page: Page): Promise<Page>

  /**
   * Returns the number of a person's sessions, or undefined if the provider does not report it. The matrix then checks
   * that the next login asks for a password.
   */
  ownSessions(person: Person): Promise<number | undefined>
  /** Ends sessions as an administrator: the newest, or all of this person. */
  endSessions?(person: Person, selection: 'newest' | 'all'): Promise<void>
  /**
   * Returns the events since `reset`, oldest first, such as `LOGIN` or `LOGOUT_ERROR session_expired`, or undefined if
   * the provider records none.
   */
  events?(): Promise<readonly string[]>
}

/** Members that the provider and the host receive alike. */
export interface Agreed
  extends Partial<
    Omit<ClientSettings, 'client_id' | 'client_secret' | 'redirect_uri' | 'post_logout_redirect_uri' | 'response_types'>
  > {
  /** Default: `code`. */
  readonly response_types?: readonly string[]
}

/**
 * The reference host as a client, in the terms of OpenID Connect Dynamic Client Registration 1.0 and RFC 8705, 9101,
 * 9126 and 9449. An absent member has the provider's default for a web application that authenticates with
 * client_secret_basic. An adapter throws on what it cannot set, so that no case passes by mistake.
 */
export interface ClientRegistration extends Agreed {
  readonly client_id: string
  /** Absent for methods without a secret. A provider that creates its own returns it. */
  readonly client_secret?: string
  readonly redirect_uris: readonly string[]
  readonly post_logout_redirect_uris?: readonly string[]
  /** The address of the host's keys. */
  readonly jwks_uri?: string
  readonly jwks?: { readonly keys: readonly object[] }
  /** Distinguished name of the certificate, for `tls_client_auth`. */
  readonly tls_client_auth_subject_dn?: string
  readonly backchannel_logout_uri?: string
  readonly backchannel_logout_session_required?: boolean
  /**
   * `unasked`: the claim `groups` comes with every scope. `by_scope`: only if the scope `groups` is requested.
   * Absent: never.
   */
  readonly groups?: 'unasked' | 'by_scope'
  /**
   * The client gets refresh tokens. Each can be used once (`rotates`), expires after this time if the provider has no
   * `acts.age` (`lifeS`), and needs a consent that the user can revoke (`asksConsent`). Absent members have the
   * provider's default.
   */
  readonly renewal?: { readonly rotates?: boolean; readonly lifeS?: number; readonly asksConsent?: boolean }
  /** Where name, e-mail address and groups are sent. Absent: the provider's default, groups in both. */
  readonly claimsIn?: 'id_token' | 'userinfo'
}

/** The host's settings for a client. */
export interface Registered {
  /** The requested id, or the provider's own if the provider assigns ids. */
  readonly client_id: string
  readonly client_secret?: string
  /**
   * Further members of the `client` object that every configuration for this provider needs, such as an algorithm that
   * it cannot change.
   */
  readonly client?: Readonly<Record<string, unknown>>
  /**
   * Further members of the `oidc` object. `groups` and `custom` are merged with those of the case, which take
   * precedence.
   */
  readonly oidc?: Readonly<Record<string, unknown>>
}
