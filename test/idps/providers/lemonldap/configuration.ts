import { generateKeyPairSync, randomBytes } from 'node:crypto'

/** The storage of a portal. */
export interface Folders {
  readonly sessions: string
  readonly persistent: string
  readonly people: string
}

/** The portal's signing key. It has one at a time. */
export interface SigningKey {
  readonly kind: 'RSA' | 'EC'
  readonly id: string
  readonly private: string
  readonly public: string
}

/** @param algorithm signs the ID tokens */
export function makeSigningKey(algorithm = 'RS256'): SigningKey {
  const curve = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }[algorithm]
  const { privateKey, publicKey } = curve
    ? generateKeyPairSync('ec', { namedCurve: curve })
    : generateKeyPairSync('rsa', { modulusLength: 2048 })
  return {
    kind: curve ? 'EC' : 'RSA',
    id: randomBytes(6).toString('hex'),
    private: privateKey.export({ format: 'pem', type: curve ? 'sec1' : 'pkcs1' }).toString(),
    public: publicKey.export({ format: 'pem', type: 'spki' }).toString(),
  }
}

/** Returns the portal's configuration as its manager would write it. */
export function configurationOf(folders: Folders, portal: string, key: SigningKey): Record<string, unknown> {
  const storage = (folder: string) => ({
    Directory: folder,
    LockDirectory: `${folder}/lock`,
    generateModule: 'Lemonldap::NG::Common::Apache::Session::Generate::SHA256',
  })
  return {
    cfgNum: 1,
    cfgDate: Math.floor(Date.now() / 1000),
    cfgAuthor: 'matrix',
    domain: 'localhost',
    cookieName: 'lemonldap',
    securedCookie: 0,
    portal,
    key: randomBytes(16).toString('hex'),
    authentication: 'DBI',
    userDB: 'Same',
    passwordDB: 'Null',
    registerDB: 'Null',
    dbiAuthChain: `dbi:SQLite:dbname=${folders.people}`,
    dbiAuthTable: 'people',
    dbiAuthLoginCol: 'uid',
    dbiAuthPasswordCol: 'password',
    dbiUserTable: 'people',
    dbiPivot: 'uid',
    userPivot: 'uid',
    dbiExportedVars: { uid: 'uid', cn: 'cn', mail: 'mail', groups: 'groups' },
    whatToTrace: 'uid',
    globalStorage: 'Apache::Session::File',
    globalStorageOptions: storage(folders.sessions),
    persistentStorage: 'Apache::Session::File',
    persistentStorageOptions: storage(folders.persistent),
    locationRules: { localhost: { default: 'accept' } },
    customPlugins: 'ClientFiles',
    // Off, because these features need further packages.
    captcha_login_enabled: 0,
    captcha_mail_enabled: 0,
    captcha_register_enabled: 0,
    portalDisplayRegister: 0,
    portalDisplayResetPassword: 0,
    issuerDBOpenIDConnectActivation: 1,
    issuerDBOpenIDConnectPath: '^/oauth2/',
    issuerDBOpenIDConnectRule: '1',
    oidcServiceAllowAuthorizationCodeFlow: 1,
    oidcServiceAllowImplicitFlow: 1,
    oidcServiceAllowHybridFlow: 1,
    oidcServicePrivateKeySig: key.private,
    oidcServicePublicKeySig: key.public,
    oidcServiceKeyIdSig: key.id,
    oidcServiceKeyTypeSig: key.kind,
  }
}
