export type { Problem, Warning } from './config/problem.ts'
export type { CredentialFiles, DomainReading } from './config/read.ts'
export { LoginError, type LoginErrorCode, type LoginErrorOptions, MESSAGES, type MessageCode } from './errors.ts'
export { type CookieSessionsOptions, cookieSessions } from './host/cookie-session.ts'
export { type ExpressSessionsOptions, expressSessions } from './host/express-session.ts'
export { type PgRevocationsOptions, pgRevocations } from './host/pg-revocations.ts'
export type {
  Account,
  Accounts,
  AuthLogEntry,
  Host,
  LoginFailure,
  LoginPage,
  OpenSession,
  Profile,
  SessionFilter,
  Sessions,
  SessionTokens,
  SignIn,
  Tokens,
  UserGroups,
  UserId,
} from './host/port.ts'
export { type RedisClient, type RedisRevocationsOptions, redisRevocations } from './host/redis-revocations.ts'
export type { RevocationStore } from './host/revocation-store.ts'
export { type MemoryRevocationsOptions, memoryRevocations } from './host/revocations.ts'
export type { PgPoolOfClients } from './host/stored/pg-connection.ts'
export type { PgPool } from './host/stored/pg-table.ts'
export type {
  StoredAccount,
  StoredAccounts,
  StoredAccountsOptions,
  StoredOptions,
  StoredUserGroups,
} from './host/stored/records.ts'
export {
  type PgAccountsOptions,
  pgAccounts,
  type SqliteAccountsOptions,
  sqliteAccounts,
} from './host/stored/sql-accounts.ts'
export {
  type PgUserGroupsOptions,
  pgUserGroups,
  type SqliteUserGroupsOptions,
  sqliteUserGroups,
} from './host/stored/sql-user-groups.ts'
export type { SqliteConnection, SqliteValue } from './host/stored/sqlite-connection.ts'
export type { Log } from './log.ts'
export { createLog } from './mount/json-log.ts'
export type { LoginOption, Oidc } from './mount/mount-oidc.ts'
export { type ReadOptions, readDomains } from './mount/read-domains.ts'
export { type RegisterOptions, registerOidc } from './mount/register.ts'
export { type Middleware, requiresAuth } from './mount/requires-auth.ts'
export type { DiscoveryFailure, DiscoveryStatus } from './mount/status/discovery-watch.ts'
export type { DomainStatus } from './mount/status/domain-status.ts'
export type { IdpAddresses } from './mount/status/idp-addresses.ts'
export type { LoginWarning, Refusal } from './mount/status/login-history.ts'
export type { PresetUrls } from './presets/presets.ts'
export type { HostApp } from './routes/route-table.ts'
export type { SessionState } from './sessions/introspection.ts'
