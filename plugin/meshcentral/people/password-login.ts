import type { RequestHandler } from 'express'
import type { Clock } from '../../clock.ts'
import { isSameRoute } from '../../config/domains/route-names.ts'
import { isJsonObject, membersOf } from '../../config/json/json-object.ts'
import { replaceFunction } from '../replaced-functions.ts'
import {
  type MeshDomain,
  type MeshRequest,
  type MeshServer,
  type MeshUser,
  type MeshWeb,
  meshRequest,
  SITE_ADMIN,
  userKey,
} from '../server.ts'
import type { TakenDomain } from '../start/take-over.ts'

/**
 * Names of the accounts that may sign in with a password, in lower case, by domain id. A domain that is missing here
 * allows all accounts.
 */
export type PasswordAccounts = ReadonlyMap<string, ReadonlySet<string>>

/** The kinds of requests that `custom.password_login` refuses, as log lines name them. */
type Refused = 'a password login' | 'an account creation' | 'a password reset'

export interface PasswordLoginOptions {
  readonly server: Pick<MeshServer, 'authLog' | 'decodeCookie'>
  readonly accounts: PasswordAccounts
  readonly clock: Clock
}

/**
 * Reads `custom.password_login` before validation, so that a mistake elsewhere does not admit passwords. Missing or
 * true admits all accounts, a list its accounts, other values none.
 */
export function passwordAccounts(takenDomains: ReadonlyMap<string, Pick<TakenDomain, 'oidc'>>): PasswordAccounts {
  return new Map(
    [...takenDomains].flatMap(([id, { oidc }]): readonly (readonly [string, ReadonlySet<string>])[] => {
      const custom = isJsonObject(oidc) ? oidc.custom : undefined
      const { password_login: allowed = true } = membersOf(custom)
      if (allowed === true) return []
      const names: readonly unknown[] = Array.isArray(allowed) ? allowed : []
      return [[id, new Set(names.filter((name) => typeof name === 'string').map((name) => name.toLowerCase()))]]
    }),
  )
}

/**
 * Enforces `custom.password_login`. A test lists the places in MeshCentral's sources that begin a session or set a
 * password.
 *
 * - Sign-in: replaces `authenticate`, which all code with a name and a password calls: forms, `?user=&pass=`,
 *   `x-meshauth` and commands over sockets. Login tokens (`~t:…`) have their own rules.
 * - Account creation and password reset: {@link PasswordLogin.forms} refuses the forms and the mailed link.
 */
export class PasswordLogin {
  readonly #server: PasswordLoginOptions['server']
  readonly #accounts: PasswordAccounts
  readonly #clock: Clock
  /**
   * When a refusal was last logged, by domain and kind of refusal, in milliseconds of `Clock.elapsed`. At most one line
   * per hour is written for each.
   */
  readonly #logged = new Map<string, number>()

  constructor({ server, accounts, clock }: PasswordLoginOptions) {
    this.#server = server
    this.#accounts = accounts
    this.#clock = clock
  }

  /** Refuses a sign-in before the password is compared, so that no answer reveals whether it is right. */
  refuseSignIns(web: Partial<Pick<MeshWeb, 'authenticate'>>): void {
    if (this.#accounts.size === 0) return
    replaceFunction(
      'web.authenticate (passwords)',
      web,
      'authenticate',
      (authenticate) => (name, secret, domain, done) => {
        const id = isJsonObject(domain) ? domain.id : undefined
        const names = typeof id === 'string' ? this.#accounts.get(id) : undefined
        const isToken = typeof name === 'string' && name.startsWith('~t:')
        if (!names || isToken || (typeof name === 'string' && names.has(name.toLowerCase()))) {
          authenticate(name, secret, domain, done)
          return
        }
        this.#log(String(id), 'a password login')
        // MeshCentral answers the error `denied` with its message "Access denied".
        done('denied')
      },
    )
  }

  /**
   * Returns a handler that refuses account creation and password reset. Install the handler after MeshCentral's
   * middleware and before MeshCentral's routes.
   */
  forms({ bodyParser }: Pick<MeshWeb, 'bodyParser'>): RequestHandler {
    // Use the same parser as MeshCentral's own routes, so that they do not parse the body again.
    const parse = bodyParser.urlencoded({ extended: false })
    return (req, res, next) => {
      const request = meshRequest(req)
      const domain = request.xdomain
      if (!domain || !this.#accounts.has(domain.id) || request.ws) return next()
      const isAt = (name: string) => isSameRoute(request.path, domain.url + name)
      const refuse = (refused: Refused) => {
        this.#log(domain.id, refused)
        if (request.session) request.session.messageid = ACCESS_DENIED
        const { search } = new URL(request.url, 'http://host.invalid')
        // Do not redirect to `checkmail`, the link in MeshCentral's mail. This handler refuses it, so the redirect
        // would loop.
        res.redirect(isAt('checkmail') ? domain.url : domain.url + search)
      }
      if (isAt('createaccount')) return refuse('an account creation')
      if (isAt('resetaccount') || (isAt('checkmail') && this.#isReset(request))) return refuse('a password reset')
      if (request.method !== 'POST' || !(isAt('') || isAt('login'))) return next()
      parse(req, res, (error?: unknown) => {
        if (error) return next(error)
        const { action } = membersOf(req.body)
        if (action === 'createaccount') refuse('an account creation')
        else if (action === 'resetaccount') refuse('a password reset')
        else next()
      })
    }
  }

  /** Whether a mail's link resets a password. Other links confirm an e-mail address. */
  #isReset({ query, xdomain }: MeshRequest): boolean {
    const { mailCookieEncryptionKey: key } = membersOf(xdomain?.mailserver)
    return this.#server.decodeCookie(query.c, key, RESET_MINUTES)?.a === RESET
  }

  #log(domainId: string, refused: Refused): void {
    const key = `${domainId} ${refused}`
    if (this.#clock.elapsed() - (this.#logged.get(key) ?? Number.NEGATIVE_INFINITY) < LOGGED_MS) return
    this.#logged.set(key, this.#clock.elapsed())
    const domain = domainId === '' ? 'the default domain' : `domain ${domainId}`
    this.#server.authLog(
      'OIDC',
      `WARN password-login-refused: ${domain} refused ${refused}, because of custom.password_login. At most one such line an hour is written.`,
    )
  }
}

const ACCESS_DENIED = 111
/** The action of a password reset link in MeshCentral's mail. */
const RESET = 2
/** The lifetime of a password reset link, in minutes. */
const RESET_MINUTES = 30
const LOGGED_MS = 60 * 60_000

/**
 * Hides the password fields of the login page with MeshCentral's own setting. The users of listed accounts can still
 * show the fields with `?passlogin=1`.
 */
export function hidePasswordFields(takenDomains: ReadonlyMap<string, TakenDomain>, accounts: PasswordAccounts): void {
  for (const id of accounts.keys()) {
    const domain = takenDomains.get(id)?.domain
    if (domain) domain.showpasswordlogin = false
  }
}

/**
 * Warns about listed accounts that do not exist, and about a domain in which no site admin can sign in. Not about lists
 * in LDAP domains: they contain login names, but account ids are attributes such as `objectGUID`.
 *
 * @param names the accounts that may sign in with a password
 * @param hasAdminGroups whether groups of the IdP make users site admins
 */
export function passwordLoginWarnings(
  users: Readonly<Record<string, MeshUser>>,
  { id: domainId, auth }: Pick<MeshDomain, 'id' | 'auth'>,
  names: ReadonlySet<string>,
  hasAdminGroups: boolean,
): readonly string[] {
  if (auth === 'ldap' && names.size > 0) return []
  const path = `domains["${domainId}"].authStrategies.oidc.custom.password_login`
  const missing = [...names].filter((name) => !Object.hasOwn(users, userKey(domainId, name)))
  const hasAdmin = hasAdminGroups || Object.entries(users).some(([key, user]) => isAdminOf(domainId, names, key, user))
  return [
    ...(missing.length > 0 ? [`${path} names accounts that do not exist: ${missing.join(', ')}.`] : []),
    ...(hasAdmin
      ? []
      : [
          `${path}: no account that may sign in is a site admin. Add a site admin who has a password to this list, or set groups.siteadmin.`,
        ]),
  ]
}

function isAdminOf(domainId: string, names: ReadonlySet<string>, key: string, user: MeshUser): boolean {
  const prefix = userKey(domainId, '')
  if (!key.startsWith(prefix) || user.siteadmin !== SITE_ADMIN) return false
  const name = key.slice(prefix.length)
  return name.startsWith('~oidc:') || names.has(name)
}
