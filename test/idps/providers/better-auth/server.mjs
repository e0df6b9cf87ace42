// A server of better-auth's OAuth provider plugin, over its adapter for memory. It takes its administrator's orders on its standard
// input, a JSON line each: `{ id, verb, with }`, answered by `{ answer: id, value }` or `{ answer: id, error }`.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { createInterface } from 'node:readline'
import { oauthProvider } from '@better-auth/oauth-provider'
import { betterAuth } from 'better-auth'
import { memoryAdapter } from 'better-auth/adapters/memory'
import { toNodeHandler } from 'better-auth/node'
import { admin, jwt } from 'better-auth/plugins'

const { port, securePort, certificateFile, keyFile } = JSON.parse(process.argv[2])
const MODELS = [
  ...['user', 'session', 'account', 'verification', 'jwks', 'oauthClient', 'oauthRefreshToken', 'oauthAccessToken'],
  ...['oauthConsent', 'oauthResource', 'oauthClientResource', 'oauthClientAssertion'],
]
const tables = Object.fromEntries(MODELS.map((model) => [model, []]))
const ADMINISTRATOR = {
  email: 'administrator@example.org',
  password: 'not-a-secret-on-loopback',
  name: 'Administrator',
}
/** What the next client is to be called, and its secret. */
let next = {}

const clientOf = (id) => tables.oauthClient.find(({ clientId }) => clientId === id)
const userOf = (email) => tables.user.find((user) => user.email === email)

function groupsTold({ groups }, user, scopes) {
  const told = groups === 'unasked' || (groups === 'by_scope' && scopes.includes('groups'))
  return told ? { groups: JSON.parse(user.groups) } : {}
}

/** @param algorithm of all ID tokens: there is none per client. HS256 means that of who goes without the plugin for keys */
function createAuth(origin, algorithm) {
  return betterAuth({
    baseURL: origin,
    secret: 'a secret of this installation on loopback, which nothing depends on',
    database: memoryAdapter(tables),
    logger: { level: 'warn' },
    telemetry: { enabled: false },
    rateLimit: { enabled: false },
    emailAndPassword: { enabled: true, autoSignIn: false },
    user: { additionalFields: { groups: { type: 'string', defaultValue: '[]', input: false } } },
    plugins: [
      admin(),
      ...(algorithm === 'HS256'
        ? []
        : [jwt({ jwks: { keyPairConfig: { alg: algorithm } }, disableSettingJwtHeader: true })]),
      oauthProvider({
        loginPage: '/sign-in',
        consentPage: '/consent',
        // Without a page for it, prompt=select_account ends at an error, though it is published.
        selectAccount: { page: '/sign-in', shouldRedirect: async () => false },
        scopes: ['openid', 'profile', 'email', 'offline_access', 'groups'],
        disableJwtPlugin: algorithm === 'HS256',
        silenceWarnings: { oauthAuthServerConfig: true, openidConfig: true },
        generateClientId: () => next.client_id,
        generateClientSecret: () => next.client_secret,
        customIdTokenClaims({ user, scopes, metadata = {} }) {
          if (metadata.claimsIn === 'userinfo') return {}
          // By itself it tells name and e-mail at the UserInfo endpoint alone.
          const person =
            metadata.claimsIn === 'id_token'
              ? { name: user.name, email: user.email, email_verified: user.emailVerified }
              : {}
          return { ...person, ...groupsTold(metadata, user, scopes) }
        },
        customUserInfoClaims({ user, scopes, jwt: token }) {
          const metadata = JSON.parse(clientOf(token.client_id ?? token.azp)?.metadata ?? '{}')
          return metadata.claimsIn === 'id_token' ? {} : groupsTold(metadata, user, scopes)
        },
      }),
    ],
  })
}

const ORIGINS = [`http://localhost:${port}`, `https://localhost:${securePort}`]
let auths = []
let handlers = []
function configure(algorithm) {
  auths = ORIGINS.map((origin) => createAuth(origin, algorithm))
  handlers = auths.map(toNodeHandler)
}

/** The pages that an installation has to bring: who is there, and whether that is fine. */
const PAGES = {
  '/sign-in': {
    fields: '<input name="username"><input name="password" type="password"><button>Sign in</button>',
    call: (form) => [
      '/sign-in/email',
      { email: `${form.get('username')}@example.org`, password: form.get('password') },
    ],
  },
  '/consent': {
    fields: '<button name="answer" value="yes">Allow</button><button name="answer" value="no">Deny</button>',
    call: (form) => ['/oauth2/consent', { accept: form.get('answer') === 'yes' }],
  },
}

async function answer(index, request, response) {
  const url = new URL(request.url, ORIGINS[index])
  if (url.pathname === '/api/auth/.well-known/openid-configuration') {
    const metadata = await auths[index].api.getOpenIdConfig()
    return send(response, 200, JSON.stringify(metadata), 'application/json')
  }
  if (url.pathname.startsWith('/api/auth/')) return handlers[index](request, response)
  const page = PAGES[url.pathname]
  if (page === undefined) return send(response, 404, 'No such page.')
  if (request.method === 'GET') return send(response, 200, `<form method="post" action="">${page.fields}</form>`)
  const [path, body] = page.call(new URLSearchParams(await readBody(request)))
  const said = await auths[index].handler(
    new Request(`${url.origin}/api/auth${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        origin: url.origin,
        cookie: request.headers.cookie ?? '',
      },
      body: JSON.stringify({ ...body, oauth_query: url.search.slice(1) }),
    }),
  )
  const { url: onward, message } = await said.json()
  if (onward === undefined) return send(response, said.status, `<p>${message}</p>`)
  response.writeHead(302, { location: onward, 'set-cookie': said.headers.getSetCookie() }).end()
}

function send(response, status, body, type = 'text/html; charset=utf-8') {
  response.writeHead(status, { 'content-type': type }).end(body)
}

async function readBody(request) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

const underWay = new Set()
const serve = (index) => (request, response) => {
  const one = answer(index, request, response)
    .catch((error) => {
      process.stderr.write(`${error.stack}\n`)
      send(response, 500, 'It failed.')
    })
    .finally(() => underWay.delete(one))
  underWay.add(one)
}
const servers = [
  createServer(serve(0)),
  createSecureServer({ cert: readFileSync(certificateFile), key: readFileSync(keyFile) }, serve(1)),
]
const PORTS = [port, securePort]

/** Somebody signed in, as calls need it. */
async function signedIn({ email, password }) {
  const { headers } = await auths[0].api.signInEmail({ body: { email, password }, returnHeaders: true })
  const cookie = headers.getSetCookie().map((one) => one.split(';', 1)[0])
  return new Headers({ cookie: cookie.join('; '), origin: ORIGINS[0] })
}

const administrator = () => signedIn(ADMINISTRATOR)

/** A new installation, with nobody but its administrator and these people. */
let fresh
async function reset({ algorithm, people }) {
  if (!fresh) {
    configure('EdDSA')
    await auths[0].api.signUpEmail({ body: ADMINISTRATOR })
    Object.assign(userOf(ADMINISTRATOR.email), { role: 'admin' })
    for (const person of people) await putPerson(person)
    fresh = structuredClone(tables)
  }
  for (const model of MODELS) tables[model] = structuredClone(fresh[model])
  configure(algorithm)
}

async function putPerson({ email, password, givenName, familyName, groups }) {
  const name = `${givenName} ${familyName}`
  if (!userOf(email)) await auths[0].api.signUpEmail({ body: { email, password, name } })
  Object.assign(userOf(email), { name, groups: JSON.stringify(groups), emailVerified: true })
}

async function putClient({
  client_id,
  client_secret,
  groups,
  claimsIn,
  backchannel_logout_uri: logoutAddress,
  renewal,
  ...metadata
}) {
  tables.oauthClient = tables.oauthClient.filter(({ clientId }) => clientId !== client_id)
  next = { client_id, client_secret }
  await auths[0].api.adminCreateOAuthClient({
    headers: await administrator(),
    body: {
      ...metadata,
      ...(renewal ? { grant_types: ['authorization_code', 'refresh_token'] } : {}),
      application_type: 'native',
      enable_end_session: true,
      metadata: { groups, claimsIn },
    },
  })
  // It takes no addresses that are private or without TLS, for the safety of the network around it; that is loopback here.
  Object.assign(clientOf(client_id), { backchannelLogoutUri: logoutAddress })
}

async function endSessions({ email, selection }) {
  const { id: userId } = userOf(email)
  const headers = await administrator()
  if (selection === 'all') return auths[0].api.revokeUserSessions({ headers, body: { userId } })
  const [{ token: sessionToken }] = sessionsOf(email).sort((a, b) => b.createdAt - a.createdAt)
  return auths[0].api.revokeUserSession({ headers, body: { sessionToken } })
}

const sessionsOf = (email) => tables.session.filter(({ userId }) => userId === userOf(email).id)

const VERBS = {
  async listen() {
    if (servers.every(({ listening }) => listening)) return
    await Promise.all(
      servers.map((server, index) => new Promise((done) => server.listen(PORTS[index], '127.0.0.1', done))),
    )
  },
  async away() {
    const closed = servers.map((server) => new Promise((done) => server.close(done)))
    for (const server of servers) server.closeAllConnections()
    await Promise.all(closed)
  },
  reset,
  async algorithm(wanted) {
    // Whoever asks for the key set before has a key of another algorithm made, and that one would be taken.
    while (underWay.size > 0) await Promise.all(underWay)
    tables.jwks = []
    configure(wanted)
  },
  person: putPerson,
  client: putClient,
  sessions: (email) => sessionsOf(email).length,
  endSessions,
  async disable(email) {
    await auths[0].api.banUser({ headers: await administrator(), body: { userId: userOf(email).id } })
  },
  async delete(email) {
    await auths[0].api.removeUser({ headers: await administrator(), body: { userId: userOf(email).id } })
  },
  async setPassword({ email, password: newPassword }) {
    await auths[0].api.setUserPassword({
      headers: await administrator(),
      body: { userId: userOf(email).id, newPassword },
    })
  },
  async revokeConsent(person) {
    const [{ id }] = tables.oauthConsent.filter(({ userId }) => userId === userOf(person.email).id)
    await auths[0].api.deleteOAuthConsent({ headers: await signedIn(person), body: { id } })
  },
  age() {
    for (const token of tables.oauthRefreshToken) Object.assign(token, { expiresAt: new Date(0) })
  },
  rotate() {
    tables.jwks = []
  },
}

configure('EdDSA')
for await (const line of createInterface({ input: process.stdin })) {
  const { id, verb, with: given } = JSON.parse(line)
  const said = await Promise.resolve()
    .then(() => VERBS[verb](given))
    .then(
      (value) => ({ answer: id, value: typeof value === 'number' ? value : null }),
      (error) => ({ answer: id, error: `${error.message} ${JSON.stringify(error.body ?? null)}` }),
    )
  process.stdout.write(`${JSON.stringify(said)}\n`)
}
process.exit(0)
