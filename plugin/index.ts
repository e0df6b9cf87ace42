export type { Problem, Warning } from './config/problem.ts'
export type { CredentialFiles, DomainReading } from './config/read.ts'
export { LoginError, type LoginErrorCode, type LoginErrorOptions, MESSAGES, type MessageCode } from './errors.ts'
export { type CookieSessionsOptions, cookieSessions } from './host/cookie-session.ts'
export { type ExpressSessionsOptions, expressSessions } from './host/express-session.ts'
export { type PgPool, type PgRevocationsOptions, pgRevocations } from './host/pg-revocations.ts'
export type {
  Account,
  Accounts,
  AuthLogEntry,
  EndedSessions,
  Host,
  LoginFailure,
  LoginPage,
  OpenSession,
  Profile,
  Sessions,
  SignIn,
  Tokens,
  UserGroups,
  UserId,
} from './host/port.ts'
export { type RedisClient, type RedisRevocationsOptions, redisRevocations } from './host/redis-revocations.ts'
export type { RevocationStore } from './host/revocation-store.ts'
export { type MemoryRevocationsOptions, memoryRevocations } from './host/revocations.ts'
export { createLog } from './json-log.ts'
export type { Log } from './log.ts'
export type { SessionState } from './login/introspection.ts'
export type { LoginOption, Oidc } from './mount-oidc.ts'
export type { PresetUrls } from './presets/all.ts'
export { type ReadOptions, readDomains } from './read-domains.ts'
export { type RegisterOptions, registerOidc } from './register.ts'
export type { HostApp } from './routes/mount.ts'
