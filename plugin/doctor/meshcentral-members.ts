/** The versions of MeshCentral that this package was tested with. */
export const TESTED_VERSIONS: readonly string[] = ['1.1.51', '1.1.55']

/** Members of one of MeshCentral's objects. MeshCentral does not document these members. */
export interface MemberGroup {
  /** The source file of MeshCentral that sets the members in the tested versions. */
  readonly file: string
  readonly functions: readonly string[]
  readonly objects: readonly string[]
}

/**
 * All members of MeshCentral's objects that single sign-on relies on, by object. If one of them is missing, single
 * sign-on does not start.
 */
export const MEMBERS = {
  server: {
    file: 'meshcentral.js',
    functions: ['authLog', 'DispatchEvent', 'encodeCookie', 'decodeCookie', 'generateCookieKey'],
    objects: ['config', 'db', 'certificates', 'common'],
  },
  web: {
    file: 'webserver.js',
    functions: ['CloneSafeUser', 'getUserAgentInfo', 'checkAllowLogin', 'authenticate'],
    objects: ['app', 'users', 'userGroups', 'destroyedSessions', 'args', 'bodyParser'],
  },
  db: {
    file: 'db.js',
    functions: ['Get', 'Set', 'Remove', 'GetAllType'],
    objects: [],
  },
} as const satisfies Readonly<Record<string, MemberGroup>>

/** Members that MeshCentral adds to a request before it calls any route. */
export const REQUEST_MEMBERS = ['session', 'xdomain', 'clientIp'] as const
