/**
 * Functions of MeshCentral, Express and Node.js that the plugin replaces, in this order. MeshCentral offers plugins no
 * other way.
 *
 * **In a stack trace:** a replacement has the original's name, in the file `meshcompanion.js`. The frame above it is
 * the original. Of two replacements, the later calls the earlier, so it is lower in the trace.
 *
 * **Not functions:** `Lockdown.voidSealed` pins `server.loginCookieEncryptionKey`. `finishBeforeStop` suspends the
 * listeners of SIGTERM and SIGINT.
 */
export const REPLACED_FUNCTIONS = [
  {
    name: 'server.encodeCookie',
    file: 'lockdown.ts',
    replaced: 'when MeshCentral loads the plugin',
    reason: 'Adds the session to cookies that MeshCentral seals for our users, so that they end with the session.',
  },
  {
    name: 'server.decodeCookie',
    file: 'lockdown.ts',
    replaced: 'when MeshCentral loads the plugin',
    reason: 'Refuses sealed cookies of ended sessions, and of all our users where the guard is inactive.',
  },
  {
    name: 'app.handle',
    file: 'self-test.ts',
    replaced: 'by server_startup, and once more by the hook',
    reason: 'Runs the last self-tests with the first request, when MeshCentral has all of its routes.',
  },
  {
    name: 'app.handle (cookies)',
    file: 'uncached-cookies.ts',
    replaced: 'by the hook',
    reason: 'Sees each answer before any middleware does. MeshCentral installs its own before it calls plugins.',
  },
  {
    name: 'web.authenticate (lockdown)',
    file: 'sessions/token-logins.ts',
    replaced: 'by the hook',
    reason: 'Refuses login tokens of our users where the guard is inactive.',
  },
  {
    name: 'web.authenticate (passwords)',
    file: 'people/password-login.ts',
    replaced: 'by the hook, if a domain has custom.password_login',
    reason: 'Refuses passwords that custom.password_login does not allow.',
  },
  {
    name: 'db.Set',
    file: 'ordered-writes.ts',
    replaced: 'by the hook',
    reason: 'Writes each record in the order of the calls. SQLite and connection pools swap concurrent writes.',
  },
  {
    name: 'db.Remove',
    file: 'ordered-writes.ts',
    replaced: 'by the hook',
    reason: 'Keeps a removal in order with the writes of the same record.',
  },
  {
    name: 'web.checkAllowLogin',
    file: 'pages/password-limit.ts',
    replaced: 'by the hook',
    reason: 'Lets pages of our sessions open sockets although their IP address sent too many wrong passwords.',
  },
  {
    name: 'db.*',
    file: 'sessions/current-work.ts',
    replaced: 'by the hook, all functions of db',
    reason: 'Calls back in the asynchronous context of the calling request. Connection pools lose this context.',
  },
  {
    name: 'web.authenticate',
    file: 'sessions/token-logins.ts',
    replaced: 'by the hook',
    reason: 'Lets login tokens of our users work only while the IdP and the group rules admit the user.',
  },
  {
    name: 'res.writeHead (cookies)',
    file: 'uncached-cookies.ts',
    replaced: 'for each answer',
    reason: 'Removes cookies that a cache could keep, after cookie-session wrote its cookie.',
  },
  {
    name: 'socket.send',
    file: 'pages/open-page.ts',
    replaced: "for each page's socket, until its first message",
    reason: 'Sends a page to the login page if MeshCentral refuses its socket.',
  },
  {
    name: 'res.writeHead',
    file: 'sessions/foreign-sessions.ts',
    replaced: 'for each answer behind the guard',
    reason: 'Marks sessions that MeshCentral itself begins, before cookie-session writes its cookie.',
  },
  {
    name: 'emit',
    file: 'sessions/current-work.ts',
    replaced: 'for each request and socket behind the guard',
    reason: 'Handles bodies and messages in the asynchronous context of their request, not of the connection.',
  },
] as const

/** The name of an entry of {@link REPLACED_FUNCTIONS}. */
export type ReplacedFunction = (typeof REPLACED_FUNCTIONS)[number]['name']

/**
 * Replaces a function of a foreign object, if it exists there.
 *
 * @param _entry its entry in {@link REPLACED_FUNCTIONS}
 * @param wrap gets the original, bound to its object, and returns the replacement
 */
export function replaceFunction<Owner extends object, Member extends keyof Owner & string>(
  _entry: ReplacedFunction,
  owner: Owner,
  member: Member,
  wrap: (original: NonNullable<Owner[Member]>) => NonNullable<Owner[Member]>,
): void {
  const original: unknown = owner[member]
  if (typeof original !== 'function') return
  const replacement = wrap(original.bind(owner))
  // Most of MeshCentral's functions have no name, so the replacement gets the name of the member.
  Object.defineProperty(replacement, 'name', { value: original.name || member, configurable: true })
  owner[member] = replacement
}
