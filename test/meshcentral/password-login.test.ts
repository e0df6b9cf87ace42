import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { until } from '../support/until.ts'
import { pluginLines } from './support/auth-log.ts'
import { openControl } from './support/control-socket.ts'
import { installMeshCentral, OLDER_VERSION } from './support/installation.ts'
import { laboratory } from './support/laboratory.ts'
import { type LdapServer, startLdapServer } from './support/ldap-server.ts'
import { sealedBy } from './support/sealed-cookie.ts'
import { isSignedIn, messageOn, signedIn } from './support/session.ts'
import { type MeshOfTests, useMesh, verdictOf } from './support/use-mesh.ts'

const PASSWORD = 'Correct-horse-7'
const ACCESS_DENIED = 111
const base64 = (text: string) => Buffer.from(text).toString('base64')

async function createAccount(setup: MeshOfTests, username: string, path = '') {
  const browser = setup.browser()
  const [email, password] = [`${username}@example.test`, { password1: PASSWORD, password2: PASSWORD }]
  const form = Object.entries({ action: 'createaccount', username, email, ...password })
  const answer = await browser.step(setup.url + path, { form })
  return { browser, answer }
}

/** Every way to sign in with a name and a password. Each resolves to whether it worked. */
const WAYS: Readonly<Record<string, (setup: MeshOfTests, user: string) => Promise<boolean>>> = {
  'the login form': async (setup, username) => {
    const browser = setup.browser()
    await browser.step(`${setup.url}login`, { form: Object.entries({ action: 'login', username, password: PASSWORD }) })
    return isSignedIn(setup, browser)
  },
  'the form of the root page': async (setup, username) => {
    const browser = setup.browser()
    await browser.step(setup.url, { form: Object.entries({ username, password: PASSWORD }) })
    return isSignedIn(setup, browser)
  },
  'the address of the root page': async (setup, user) => {
    const browser = setup.browser()
    await browser.step(`${setup.url}?${new URLSearchParams({ user, pass: PASSWORD }).toString()}`)
    return isSignedIn(setup, browser)
  },
  'the address of a socket': async (setup, user) =>
    (await verdictOf(setup.keep(openControl(setup, { query: { user, pass: PASSWORD } })))) === 'signed in',
  'the header x-meshauth': async (setup, user) => {
    const header = `${base64(user)},${base64(PASSWORD)}`
    const socket = setup.keep(openControl(setup, { headers: { 'x-meshauth': header } }))
    return (await verdictOf(socket)) === 'signed in'
  },
  'the order userAuth': async (setup, user) => {
    const socket = setup.keep(openControl(setup, { headers: { 'x-meshauth': '*' } }))
    await socket.opened
    socket.send({ action: 'userAuth', username: base64(user), password: base64(PASSWORD) })
    return (await verdictOf(socket)) === 'signed in'
  },
}
/** Tries all ways at the same time, because MeshCentral answers a refused form after 2 to 6 s. */
async function waysOf(setup: MeshOfTests, user: string): Promise<Readonly<Record<string, boolean>>> {
  const attempts = Object.entries(WAYS).map(async ([way, attempt]) => [way, await attempt(setup, user)] as const)
  return Object.fromEntries(await Promise.all(attempts))
}
const onAllWays = (works: boolean) => Object.fromEntries(Object.keys(WAYS).map((way) => [way, works]))

describe('custom.password_login', () => {
  const settings = { maxInvalidLogin: false }
  const withPasswords = (custom: object) => ({ settings, domains: { '': { oidc: { custom } } } })
  const setup = useMesh({ ...withPasswords({}), domains: { '': { members: { newAccounts: true } } } })

  const waysFor = (user: string) => waysOf(setup, user)
  const warnings = async () =>
    (await pluginLines(setup)).filter(({ event }) => String(event).startsWith('password-login-lockout'))

  before(async () => {
    // The first account of a domain is a site admin.
    await createAccount(setup, 'admin')
    await createAccount(setup, 'tom')
  })

  it('MeshCentral accepts passwords by form, URL or header if password_login is unset', async () => {
    expect(await waysFor('tom')).to.deep.equal(onAllWays(true))
  })

  // Shows: plugin 5.22.
  it('a list in password_login refuses the passwords of all accounts not in it', async () => {
    await setup.restart(withPasswords({ password_login: ['Admin'] }))
    expect(await waysFor('tom')).to.deep.equal(onAllWays(false))
    expect(await waysFor('TOM')).to.deep.equal(onAllWays(false))
    expect(await waysFor('admin')).to.deep.equal(onAllWays(true))
    expect(await warnings()).to.deep.equal([])
    const refusals = (await pluginLines(setup)).filter(({ event }) => event === 'password-login-refused')
    expect(refusals.map(({ level }) => level)).to.deep.equal(['WARN'])
  })

  it('password_login false refuses all passwords, but accepts login tokens', async () => {
    await setup.restart(withPasswords({ password_login: false }))
    expect(await waysFor('admin')).to.deep.equal(onAllWays(false))
    const browser = await signedIn(setup, setup.person())
    const page = await setup.open(browser)
    const { tokenUser, tokenPass } = await page.ask('createLoginToken', { name: 'A tool', expire: 0 })
    const query = { user: String(tokenUser), pass: String(tokenPass) }
    expect(await verdictOf(setup.keep(openControl(setup, { query })))).to.equal('signed in')
  })

  it('with password_login false, the login page refuses passwords and has no fields', async () => {
    const browser = setup.browser()
    const form = Object.entries({ action: 'login', username: 'admin', password: PASSWORD })
    expect(messageOn(await browser.step(setup.url, { form }))).to.equal(ACCESS_DENIED)
    const { body } = await setup.browser().step(setup.url)
    expect(/var passlogin = '(\w+)'/.exec(body)?.[1]).to.equal('false')
  })

  for (const path of ['', 'login', 'LOGIN/', 'createaccount', 'CreateAccount/'])
    it(`with password_login false, a form sent to /${path} creates no account`, async () => {
      const { browser, answer } = await createAccount(setup, 'eve', path)
      expect(answer.status).to.equal(302)
      expect(messageOn(await browser.step(setup.url))).to.equal(ACCESS_DENIED)
      const records = await setup.data.records()
      expect(records.has('user//eve')).to.equal(false)
    })

  for (const path of ['', 'login', 'resetaccount'])
    it(`with password_login false, a form sent to /${path} sends no reset mail`, async () => {
      const browser = setup.browser()
      const form = Object.entries({ action: 'resetaccount', email: 'tom@example.test' })
      expect((await browser.step(setup.url + path, { form })).status).to.equal(302)
      expect(messageOn(await browser.step(setup.url))).to.equal(ACCESS_DENIED)
    })

  it('warns at start if password_login lists no site admin or an unknown account', async () => {
    const [none = { text: '' }] = await warnings()
    expect(JSON.stringify(none)).to.include('no account that may sign in is a site admin')
    await setup.restart(withPasswords({ password_login: ['tom', 'gone'] }))
    const warningsText = JSON.stringify((await warnings()).slice(1))
    expect(warningsText).to.include('accounts that do not exist: gone')
    expect(warningsText).to.include('no account that may sign in is a site admin')
  })

  it('password_login false refuses all passwords even if the oidc object has an error', async () => {
    await setup.restart({
      settings,
      domains: { '': { oidc: { custom: { password_login: false }, groups: { requierd: 'x' } } } },
    })
    expect(await waysFor('admin')).to.deep.equal(onAllWays(false))
  })

  it('treats a password_login that is neither a boolean nor a list as false', async () => {
    await setup.restart(withPasswords({ password_login: 'yes' }))
    expect(await waysFor('admin')).to.deep.equal(onAllWays(false))
  })
})

describe('custom.password_login in a domain that signs users in by LDAP', () => {
  let ldap: LdapServer
  const withPasswords = (custom: object) => ({
    settings: { maxInvalidLogin: false },
    domains: { '': { members: ldap.members, oidc: { custom } } },
  })
  const setup = useMesh(async () => {
    ldap = await startLdapServer((await laboratory()).installation, ['admin', 'tom'], PASSWORD)
    return withPasswords({})
  })
  after(() => ldap.close())

  it('LDAP users can use passwords in form, URL or header if password_login is unset', async () => {
    expect(await waysOf(setup, 'admin')).to.deep.equal(onAllWays(true))
    expect(await waysOf(setup, 'tom')).to.deep.equal(onAllWays(true))
    expect(ldap.passwordsTried()).to.equal(2 * Object.keys(WAYS).length)
  })

  // Shows: plugin 5.22.
  it('password_login also refuses LDAP passwords, except for users in its list', async () => {
    await setup.restart(withPasswords({ password_login: ['Admin'] }))
    const earlier = ldap.passwordsTried()
    for (const name of ['tom', 'TOM']) expect(await waysOf(setup, name), name).to.deep.equal(onAllWays(false))
    expect(ldap.passwordsTried()).to.equal(earlier)
    expect(await waysOf(setup, 'admin')).to.deep.equal(onAllWays(true))
    await setup.restart(withPasswords({ password_login: false }))
    expect(await waysOf(setup, 'admin')).to.deep.equal(onAllWays(false))
    expect(ldap.passwordsTried()).to.equal(earlier + Object.keys(WAYS).length)
    // The ids of LDAP accounts are no login names, so only the value false can be checked.
    expect((await pluginLines(setup)).filter(({ event }) => event === 'password-login-lockout')).to.have.length(1)
    expect(await isSignedIn(setup, await signedIn(setup, setup.person()))).to.equal(true)
  })
})

describe("the links in MeshCentral's mails with custom.password_login", () => {
  const smtp = { name: 'console', host: '127.0.0.1', from: 'server@example.test' }
  const withMail = (custom: object) => ({ domains: { '': { members: { smtp }, oidc: { custom } } } })
  const setup = useMesh(withMail({}))

  /** The address in a mail to tom: action 1 confirms the e-mail address, action 2 resets the password. */
  const linkTo = async (a: 1 | 2) => {
    const { key } = (await setup.data.records()).get('MailCookieEncryptionKey') as { readonly key?: string }
    const cookie = sealedBy(Buffer.from(String(key), 'hex'), { u: 'user//tom', e: 'tom@example.test', a })
    return `${setup.url}checkmail?c=${encodeURIComponent(cookie)}`
  }
  const hashOfTom = async () => (await setup.data.records()).get('user//tom')?.hash

  it('password_login false refuses links that reset a password', async () => {
    await createAccount(setup, 'tom')
    expect((await setup.browser().step(await linkTo(1))).status).to.equal(200)
    await until('the confirmed address', async () => (await setup.data.records()).get('user//tom')?.emailVerified)
    const oldHash = await hashOfTom()
    expect((await setup.browser().step(`${await linkTo(2)}&confirm=1`)).status).to.equal(200)
    const reset = await until('the new password', async () => {
      const hash = await hashOfTom()
      return hash !== oldHash && hash
    })
    await setup.restart(withMail({ password_login: false }))
    const browser = setup.browser()
    for (const query of ['', '&confirm=1']) {
      const { status, headers } = await browser.step((await linkTo(2)) + query)
      expect([status, headers.location]).to.deep.equal([302, '/'])
      expect(messageOn(await browser.step(setup.url))).to.equal(ACCESS_DENIED)
    }
    expect((await setup.browser().step(await linkTo(1))).status).to.equal(200)
    expect(await hashOfTom()).to.equal(reset)
  })
})

const AUTHENTICATED = 'after `authenticate`'
const REFUSED = 'refused by the handler for forms'
const ADMINISTRATOR = 'asked for by a user who is signed in'
const OTHER_PROOF = 'by something else than a password'

/** Places where MeshCentral begins a session or sets a password, and why no refused password gets through there. */
const SESSIONS_AND_PASSWORDS: readonly (readonly [place: string, reason: string])[] = [
  ['webserver.js ldapHandler: user.salt', 'clears the password of an LDAP account'],
  ['webserver.js completeLoginRequest: req.session.userid = userid', AUTHENTICATED],
  ['webserver.js handleCreateAccountRequest: req.session.userid = user._id', REFUSED],
  ['webserver.js handleCreateAccountRequest: user.salt', REFUSED],
  ['webserver.js handleResetPasswordRequest: user.salt', AUTHENTICATED],
  ['webserver.js handleResetPasswordRequest: req.session.userid = userid', AUTHENTICATED],
  ['webserver.js handleCheckMailRequest: userinfo.salt', REFUSED],
  ['webserver.js handlePasswordChangeRequest: user.salt', ADMINISTRATOR],
  ['webserver.js handleStrategyLogin: req.session.userid = userid', OTHER_PROOF],
  ['webserver.js handleStrategyLogin: req.session.userid = userid', OTHER_PROOF],
  ['webserver.js handleRootRequest: req.session.userid = userid', AUTHENTICATED],
  ["webserver.js handleRootRequestEx: req.session.userid = 'user/' + domain.id + '/~'", 'settings.noUsers'],
  [
    "webserver.js handleRootRequestEx: req.session.userid = 'user/' + domain.id + '/' + obj.args.user.toLowerCase()",
    'settings.user',
  ],
  ['webserver.js handleRootRequestEx: req.session.userid = loginCookie.u', OTHER_PROOF],
  [
    "webserver.js handleRootRequestEx: req.session.userid = 'user/' + domain.id + '/' + req.connection.user.toLowerCase()",
    OTHER_PROOF,
  ],
  ['webserver.js pushlogin: req.session = { userid: cookie.u }', AUTHENTICATED],
  [
    "webserver.js setupHTTPHandlers: req.session.userid = 'user/' + domain.id + '/' + obj.args.user.toLowerCase()",
    'settings.user',
  ],
  [
    "webserver.js setupHTTPHandlers: req.session.userid = 'user/' + domain.id + '/' + obj.args.user.toLowerCase()",
    'settings.user',
  ],
  ['webserver.js setupHTTPHandlers: req.session.userid = userid', AUTHENTICATED],
  [
    "webserver.js serialtunnel.forwardwrite: req.session.userid = 'user//' + obj.args.user.toLowerCase()",
    'settings.user',
  ],
  ['webserver.js serialtunnel.forwardwrite: req.session.userid = urlCookie.ruserid', OTHER_PROOF],
  ['webserver.js PerformWSSessionAuth: req.session.userid = user._id', AUTHENTICATED],
  ['webserver.js PerformWSSessionAuth: req.session.userid = user._id', AUTHENTICATED],
  ['webserver.js PerformWSSessionAuth: req.session.userid = user._id', AUTHENTICATED],
  ['meshuser.js recordings: user.salt', ADMINISTRATOR],
  ['meshuser.js recordings: chguser.salt', ADMINISTRATOR],
  ['meshuser.js serverCommandAddUser: newuser.salt', ADMINISTRATOR],
  ['meshuser.js serverCommandAddUserBatch: newuser.salt', ADMINISTRATOR],
]

/** Routes that take the forms of the login page, with the functions that answer them. */
const FORMS = [
  'url: handleRootPostRequest',
  "url + 'login': handleRootPostRequest",
  "url + 'tokenlogin': handleLoginRequest",
  "url + 'changepassword': handlePasswordChangeRequest",
  "url + 'deleteaccount': handleDeleteAccountRequest",
  "url + 'createaccount': handleCreateAccountRequest",
  "url + 'resetpassword': handleResetPasswordRequest",
  "url + 'resetaccount': handleResetAccountRequest",
]

describe("MeshCentral's own sessions and passwords", () => {
  for (const version of [undefined, OLDER_VERSION]) {
    const name = version ?? 'latest version'
    it(`only known MeshCentral routes read login forms: ${name}`, async () => {
      const folder = join(await installMeshCentral(version), 'node_modules/meshcentral')
      const source = readFileSync(join(folder, 'webserver.js'), 'utf8')
      const routes = [...source.matchAll(/obj\.app\.post\((url[^,]*),.*bodyParser\.urlencoded.*, (handle\w+)\);/g)]
      const forms = routes.map(([, path, handler]) => `${path}: ${handler}`)
      expect(forms.filter((form) => /Root|Login|Account|Password/.test(form))).to.deep.equal(FORMS)
    })

    it(`only known MeshCentral functions begin sessions or set passwords: ${name}`, async () => {
      const folder = join(await installMeshCentral(version), 'node_modules/meshcentral')
      const places = ['webserver.js', 'meshuser.js'].flatMap((file) => {
        let inside = ''
        return readFileSync(join(folder, file), 'utf8')
          .split('\n')
          .flatMap((line) => {
            inside =
              /function (\w+)\s*\(|([\w.]+) = function\b|case '(\w+)': \{?/.exec(line)?.slice(1).find(Boolean) ?? inside
            const match = /\b\w+\.salt = |req\.session(?:\.userid)? = (?!null|\{\})[^;]*/.exec(
              line.replace(/^\s*\/\/.*/, ''),
            )
            return match ? [`${file} ${inside}: ${match[0].replace(/\.salt = $/, '.salt')}`] : []
          })
      })
      expect(places).to.deep.equal(SESSIONS_AND_PASSWORDS.map(([place]) => place))
    })
  }
})
